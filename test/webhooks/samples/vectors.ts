/**
 * Genuine and forged deliveries, signed by the public library `standardwebhooks`, that every sample of docs/webhooks.md
 * must verify correctly.
 */
import { Webhook } from 'standardwebhooks';

export interface Vector {
  readonly name: string;
  readonly genuine: boolean;
  readonly secrets: readonly string[];
  readonly id: string;
  readonly timestamp: string;
  readonly signatures: string;
  readonly body: string;
}

const secretOf = (bytes: number, fill: number) => `whsec_${Buffer.alloc(bytes, fill).toString('base64')}`;
/** Of 24 bytes, which base64 writes without padding, and of 32, with padding. */
const SECRET = secretOf(24, 7);
const OLD_SECRET = secretOf(32, 8);
const STRANGE_SECRET = secretOf(24, 9);

const ID = '1-3463';
const BODY = '{"id":"1-3463","type":"todos.created","data":{"title":"Zwölf 🍵\\n"}}\n';
/** Far enough from the limit of five minutes for a busy machine. */
const WITHIN_S = 240;
const BEYOND_S = 360;

/** All of them, with timestamps around the present time. */
export function vectors(): readonly Vector[] {
  const now = Math.floor(Date.now() / 1_000);
  const sign = (secret: string, { id = ID, at = now, body = BODY } = {}) =>
    new Webhook(secret).sign(id, new Date(at * 1_000), body);
  const right = sign(SECRET);
  const base = { secrets: [SECRET], id: ID, timestamp: String(now), signatures: right, body: BODY };
  const at = (seconds: number) => ({ timestamp: String(seconds), signatures: sign(SECRET, { at: seconds }) });
  const genuine = (name: string, change: Partial<Vector>): Vector => ({ ...base, ...change, name, genuine: true });
  const forged = (name: string, change: Partial<Vector>): Vector => ({ ...base, ...change, name, genuine: false });
  return [
    genuine('a good one', {}),
    genuine('a secret with padding', { secrets: [OLD_SECRET], signatures: sign(OLD_SECRET) }),
    genuine('an empty body', { body: '', signatures: sign(SECRET, { body: '' }) }),
    genuine('four minutes old', at(now - WITHIN_S)),
    genuine('four minutes ahead', at(now + WITHIN_S)),
    genuine('two signatures, the second is valid', { signatures: `${sign(STRANGE_SECRET)} ${right}` }),
    genuine('two signatures, the first is valid', { signatures: `${right} ${sign(STRANGE_SECRET)}` }),
    genuine('a signature of another version before it', { signatures: `v1a,${right.slice(3)} ${right}` }),
    genuine('two secrets, the second is valid', { secrets: [OLD_SECRET, SECRET] }),
    genuine('during a rotation', {
      secrets: [OLD_SECRET, SECRET],
      signatures: `${sign(STRANGE_SECRET)} ${sign(OLD_SECRET)}`,
    }),
    forged('another secret', { signatures: sign(STRANGE_SECRET) }),
    forged('two wrong signatures', { signatures: `${sign(STRANGE_SECRET)} ${sign(OLD_SECRET)}` }),
    forged('a changed body', { body: BODY.replace('created', 'deleted') }),
    forged('a body without its last byte', { body: BODY.slice(0, -1) }),
    forged('another id', { id: '1-3464' }),
    forged('another timestamp', { timestamp: String(now - 1) }),
    forged('six minutes old', at(now - BEYOND_S)),
    forged('six minutes ahead', at(now + BEYOND_S)),
    forged('no id', { id: '' }),
    forged('no timestamp', { timestamp: '' }),
    forged('a timestamp in words', { timestamp: 'now' }),
    forged('a timestamp without end', { timestamp: '9'.repeat(40) }),
    forged('a negative timestamp', { timestamp: `-${now}` }),
    forged('no signature', { signatures: '' }),
    forged('only a version', { signatures: 'v1' }),
    forged('a version and nothing', { signatures: 'v1,' }),
    forged('no version', { signatures: right.slice(3) }),
    forged('another version', { signatures: `v2,${right.slice(3)}` }),
    forged('half of the signature', { signatures: right.slice(0, 20) }),
    forged('a signature that is not base64', { signatures: 'v1,ß!*' }),
    forged('commas and blanks', { signatures: ' , ,, v1,, ' }),
  ];
}

/** Deliveries as the sample programs read them: one per line, its fields in base64, separated by tabs. */
export function asLines(deliveries: readonly Vector[]): string {
  const lines = deliveries.map(({ secrets, id, timestamp, signatures, body }) =>
    [secrets.join(','), id, timestamp, signatures, body]
      .map((field) => Buffer.from(field).toString('base64'))
      .join('\t'),
  );
  return `${lines.join('\n')}\n`;
}
