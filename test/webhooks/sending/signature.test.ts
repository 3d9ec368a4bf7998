/** Signatures, as the packages of receivers verify them: `standardwebhooks` and `svix` in Node, the first in Python too. */
import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import t from 'tap';
import { findDeliveryIssue, readDeliveryId } from '../../../src/commands/webhooks/verify-delivery.ts';
import { Signer } from '../../../src/webhooks/sending/signature.ts';
import { type SignedRequest, verifiedByPython, whyNoPython } from '../../helpers/webhooks/python-verifier.ts';

const BODY = JSON.stringify({ id: '3-1042', type: 'todos.created', data: { text: 'Grüße, 世界 🌊' } });
const HOUR = 3_600_000;
const [fresh, old, older, foreign] = [24, 32, 64, 32].map((bytes) => `whsec_${randomBytes(bytes).toString('base64')}`);
const now = Date.now();

function signed(secrets: readonly { secret: string; until: number | null }[]): Record<string, string> {
  return new Signer(secrets).headers('3-1042', BODY, now);
}

const alone = signed([{ secret: fresh ?? '', until: null }]);
const rotating = signed([
  { secret: fresh ?? '', until: null },
  { secret: old ?? '', until: now + HOUR },
  { secret: older ?? '', until: now + 1 },
]);
const rotated = signed([
  { secret: fresh ?? '', until: null },
  { secret: old ?? '', until: now },
]);

/** What is signed, with which secret of the receiver, and whether it must accept it. */
const CASES: readonly (readonly [string, boolean, SignedRequest])[] = [
  ['one secret', true, { secret: fresh ?? '', body: BODY, headers: alone }],
  ['another secret', false, { secret: foreign ?? '', body: BODY, headers: alone }],
  ['a changed body', false, { secret: fresh ?? '', body: `${BODY} `, headers: alone }],
  ['another id', false, { secret: fresh ?? '', body: BODY, headers: { ...alone, 'webhook-id': '3-1043' } }],
  [
    'another time',
    false,
    { secret: fresh ?? '', body: BODY, headers: { ...alone, 'webhook-timestamp': String(Math.floor(now / 1000) - 1) } },
  ],
  ['a rotation, the new secret', true, { secret: fresh ?? '', body: BODY, headers: rotating }],
  ['a rotation, the old secret', true, { secret: old ?? '', body: BODY, headers: rotating }],
  ['a rotation, the oldest secret', true, { secret: older ?? '', body: BODY, headers: rotating }],
  ['after a rotation, the new secret', true, { secret: fresh ?? '', body: BODY, headers: rotated }],
  ['after a rotation, the old secret', false, { secret: old ?? '', body: BODY, headers: rotated }],
];

function verified(verify: () => unknown): boolean {
  try {
    verify();
    return true;
  } catch {
    return false;
  }
}

for (const [name, Verifier] of [
  ['standardwebhooks', Webhook],
  ['svix', SvixWebhook],
] as const) {
  t.test(`${name} in Node`, async (t) => {
    for (const [what, valid, { secret, body, headers }] of CASES) {
      t.equal(
        verified(() => new Verifier(secret).verify(body, headers)),
        valid,
        what,
      );
    }
  });
}

t.test('standardwebhooks in Python', { skip: whyNoPython() ?? false }, async (t) => {
  const found = await verifiedByPython(CASES.map(([, , request]) => request));
  for (const [index, [what, valid]] of CASES.entries()) t.equal(found[index], valid, what);
});

t.test('the signature headers have the format of Standard Webhooks', async (t) => {
  t.strictSame(Object.keys(alone), ['webhook-id', 'webhook-timestamp', 'webhook-signature']);
  t.equal(alone['webhook-timestamp'], String(Math.floor(now / 1_000)), 'seconds');
  t.match(alone['webhook-signature'], /^v1,[A-Za-z0-9+/]{43}=$/);
  t.match(rotating['webhook-signature'], /^(v1,[A-Za-z0-9+/]{43}=( |$)){3}$/, 'one entry for each live secret');
  t.match(rotated['webhook-signature'], /^v1,[A-Za-z0-9+/]{43}=$/, 'a secret ends at its time');
});

t.test('`webhooks listen` accepts the header names of Svix, too', async (t) => {
  for (const prefix of ['webhook-', 'svix-']) {
    const entries = Object.entries(alone).map(([name, value]) => [name.replace('webhook-', prefix), value]);
    const headers: Record<string, string> = Object.fromEntries(entries);
    const call = { method: 'POST', path: '/', headers, body: BODY };
    t.equal(findDeliveryIssue(call, fresh ?? '', now), null, prefix);
    t.equal(readDeliveryId(call), '3-1042', prefix);
    t.match(findDeliveryIssue({ ...call, body: `${BODY} ` }, fresh ?? '', now), /signature/, prefix);
    const { [`${prefix}timestamp`]: _, ...rest } = headers;
    t.match(findDeliveryIssue({ ...call, headers: rest }, fresh ?? '', now), `${prefix}timestamp`, prefix);
  }
});
