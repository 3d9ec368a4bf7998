/** Functions verify the signatures of received webhooks: Standard Webhooks, of this server, of Svix, and of others. */

import { Webhook } from 'svix';
import t from 'tap';
import { IsolateSandbox } from '../../../src/functions/sandbox/host/isolate-sandbox.ts';
import { Signer } from '../../../src/webhooks/sending/signature.ts';
import { resultOf } from './calls.ts';

const sandbox = new IsolateSandbox({ onCrash: () => t.fail('strike') });
t.teardown(() => sandbox.stop());

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
/** Longer than a block of SHA-256. */
const LONG = `whsec_${Buffer.alloc(100, 9).toString('base64')}`;
const TEXT = '{"type":"orders.created","data":{"name":"Zoë 🌲","n":1234567890123456789}}';
const secrets = { WEBHOOK: SECRET, BARE: SECRET.slice(6), LONG, OTHER, WORDS: 'not base64!', EMPTY: 'whsec_' };

/** Headers as this server sends them. @param at milliseconds since 1970 */
function signed(text = TEXT, at = Date.now(), keys: readonly string[] = [SECRET]) {
  return new Signer(keys.map((secret) => ({ secret, until: null }))).headers('evt_1', text, at);
}

function asSvix(headers: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.replace('webhook', 'svix'), value]));
}

/** The result of `verify`, or the code, status and message of its error. */
async function verify(headers: unknown, text: unknown = TEXT, secret: unknown = 'WEBHOOK'): Promise<unknown> {
  const code = `export default async (input, ctx) => {
    try { return await ctx.webhooks.verify(...input); }
    catch ({ name, code, status, message }) { return { name, code, status, message }; }
  };`;
  return resultOf(sandbox, code, { input: JSON.stringify([headers, text, secret]), secrets });
}

const refused = (message: RegExp) => ({ name: 'MillraceError', code: 'invalid-token', status: 401, message });
const misused = (message: RegExp) => ({ name: 'MillraceError', code: 'invalid-parameter', status: 400, message });

t.test('A genuine webhook is accepted, with the header names and secret forms that senders use.', async (t) => {
  const at = Math.floor(Date.now() / 1_000) * 1_000;
  const right = { id: 'evt_1', sentAt: new Date(at).toISOString() };
  const headers = signed(TEXT, at);
  t.strictSame(await verify(headers), right);
  t.strictSame(await verify(asSvix(headers)), right, 'svix-…');
  t.strictSame(await verify(headers, TEXT, 'BARE'), right, 'a secret without whsec_');
  t.strictSame(await verify(headers, TEXT, SECRET), right, 'the value of a secret');
  t.strictSame(await verify(Object.entries(headers)), right, 'pairs');
  t.strictSame(await verify({ 'Webhook-Id': 'evt_1', ...headers, 'X-Other': ['1'], host: 'a' }), right);
  t.strictSame(await verify({ ...headers, 'svix-id': 'x' }), right, 'beside a half of the other names');
  t.strictSame(await verify({ ...asSvix(headers), 'webhook-id': 'x' }), right);
  const rotated = signed(TEXT, at, [OTHER, SECRET]);
  t.strictSame(await verify(rotated), right, 'the second of two signatures');
  const signature = `v1a,AAAA v2,xyz v1,%% ${headers['webhook-signature']}`;
  t.strictSame(await verify({ ...headers, 'webhook-signature': signature }), right, 'beside unknown versions');
  const twice = `v1,AAAA, ${headers['webhook-signature']}`;
  t.strictSame(await verify({ ...headers, 'webhook-signature': twice }), right, 'a header that was sent twice');
  t.strictSame(await verify(signed(TEXT, at, [LONG]), TEXT, 'LONG'), right, 'a long key');
  for (const length of [0, 1, 55, 56, 63, 64, 65, 1_000]) {
    const text = 'ä'.repeat(length);
    t.strictSame(await verify(signed(text, at), text), right, `${length} characters`);
  }
  const bySvix = new Webhook(SECRET).sign('msg_1', new Date(at), TEXT);
  const theirs = { 'svix-id': 'msg_1', 'svix-timestamp': String(at / 1_000), 'svix-signature': bySvix };
  t.match(await verify(theirs), { id: 'msg_1' }, 'signed by the library of Svix');
});

t.test('Any other request is rejected with the reason.', async (t) => {
  const headers = signed();
  const wrong = refused(/No signature of the webhook is valid/);
  t.match(await verify(headers, `${TEXT} `), wrong);
  t.match(await verify(headers, TEXT, 'OTHER'), wrong);
  t.match(await verify(headers, TEXT, OTHER), wrong);
  t.match(await verify({ ...headers, 'webhook-id': 'evt_2' }), wrong);
  const signature = headers['webhook-signature'] ?? '';
  for (const other of [signature.slice(0, -4), `${signature.slice(0, 10)}A${signature.slice(11)}`, 'v1,', 'v1,=']) {
    t.match(await verify({ ...headers, 'webhook-signature': other }), wrong, other);
  }
  t.match(await verify({ ...headers, 'webhook-signature': 'v1a,AAAA' }), refused(/no signature of version v1/));
  const now = Date.now();
  t.match(await verify(signed(TEXT, now - 302_000)), refused(/more than 5 minutes ago/));
  t.match(await verify(signed(TEXT, now + 310_000)), refused(/more than 5 minutes in the future/));
  t.match(await verify(signed(TEXT, now - 290_000)), { id: 'evt_1' });
  t.match(await verify(signed(TEXT, now + 290_000)), { id: 'evt_1' });
  for (const timestamp of ['x', '-1', '1e3', ' 1', '9'.repeat(20)]) {
    t.match(
      await verify({ ...headers, 'webhook-timestamp': timestamp }),
      refused(/not a number of seconds/),
      timestamp,
    );
  }
  t.match(await verify({}), refused(/the header webhook-id is missing/));
  t.match(await verify({ ...headers, 'webhook-signature': '' }), refused(/the header webhook-signature is missing/));
  t.match(await verify({ ...asSvix(headers), 'svix-timestamp': '' }), refused(/the header svix-timestamp is missing/));
  t.match(await verify({ 'stripe-signature': 't=1,v1=ab' }), refused(/the header webhook-id is missing/));
});

t.test('Wrong arguments are an error that explains them without repeating a secret.', async (t) => {
  const headers = signed();
  t.match(await verify(headers, null), misused(/Pass the text of the request/));
  t.match(await verify(headers, JSON.parse(TEXT)), misused(/not the value parsed from it/));
  t.match(await verify(null), misused(/Pass the headers/));
  t.match(await verify(headers, TEXT, 'UNKNOWN'), misused(/^The plugin has no secret of this name, or it is not set$/));
  t.match(await verify(headers, TEXT, 'constructor'), misused(/no secret of this name/));
  t.match(await verify(headers, TEXT, null), misused(/Use the name of a secret/));
  for (const secret of ['WORDS', 'EMPTY', 'whsec_']) {
    t.match(await verify(headers, TEXT, secret), misused(/^The secret is not base64, with or without whsec_/), secret);
  }
});
