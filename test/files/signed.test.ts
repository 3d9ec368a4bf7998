/**
 * Signatures besides tokens: file URLs and page cursors, their validity, encryption of their secrets with the master key, and
 * rotation.
 */
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { Binary } from 'mongodb';
import t from 'tap';
import { SigningSecret } from '../../src/database/signing-secret.ts';
import { hasValidSignature, signedQuery } from '../../src/files/signed-urls.ts';
import { Encryption } from '../../src/lib/encryption.ts';
import type { Services } from '../../src/services.ts';
import { buildTestApp } from '../helpers/app.ts';
import { multipart } from '../helpers/files/upload.ts';
import { testMongo } from '../helpers/mongo.ts';
import { until } from '../helpers/until.ts';
import { ask } from '../helpers/users.ts';

const HOUR_S = 3_600;
const KEY = createSecretKey(randomBytes(32));

interface SecretRow {
  _id: string;
  value: string | Binary;
}

const secretsOf = (services: Services) => services.mongo.log.collection<SecretRow>('secrets');
const cursorOf = (link: unknown) => /cursor=([\w-]+)/.exec(String(link))?.[1] ?? '';

/** A file, and two documents to page through. */
async function fill(app: FastifyInstance): Promise<string> {
  const { send, headers } = await multipart({ name: 'a.txt' });
  const created = await app.inject({ method: 'POST', url: '/files', payload: send, headers });
  for (const n of [1, 2]) await ask(app, 'POST /api/pages', { n });
  if (created.statusCode !== 200) throw new Error(created.body);
  return created.json().id;
}

/** A URL of the file and a cursor, as this process signs them now. */
async function sign(app: FastifyInstance, id: string) {
  const { url } = (await ask(app, `POST /files/${id}/sign`)).json();
  const page = await ask(app, 'GET /api/pages?limit=1');
  return { address: String(url).replace(/^https?:\/\/[^/]+\//, ''), cursor: cursorOf(page.headers['link']) };
}

/** The status codes of both in a process. */
async function use(app: FastifyInstance, { address, cursor }: Awaited<ReturnType<typeof sign>>): Promise<number[]> {
  const [file, page] = [await ask(app, `GET /${address}`), await ask(app, `GET /api/pages?limit=1&cursor=${cursor}`)];
  return [file.statusCode, page.statusCode];
}

t.test(
  'A URL valid for longer than any that the server creates is rejected, even with a valid signature.',
  async (t) => {
    const now = Math.floor(Date.now() / 1_000);
    const holds = (expires: number) => hasValidSignature([KEY], 'a', signedQuery(KEY, 'a', expires), now);
    t.ok(holds(now + 1));
    t.ok(holds(now + HOUR_S));
    for (const expires of [now, now + HOUR_S + 61, now + 100 * HOUR_S, 999_999_999_999]) {
      t.throws(() => holds(expires), { code: 'invalid-token' }, String(expires - now));
    }
  },
);

t.test('a correct signature of a URL that has expired, or never expires, gets nothing over HTTP', async (t) => {
  const { app, services } = await buildTestApp(t);
  const id = await fill(app);
  const { address } = await sign(app, id);
  const value = (await secretsOf(services).findOne({ _id: 'file-addresses' }))?.value;
  const statusAt = async (expires: number) => {
    const signature = createHmac('sha256', Buffer.from(String(value), 'base64')).update(`file\n${id}\n${expires}`);
    const forged = address.replace(/\?.*/, `?expires=${expires}&signature=${signature.digest('base64url')}`);
    return (await ask(app, `GET /${forged}`)).statusCode;
  };
  const now = Math.floor(Date.now() / 1_000);
  t.equal((await ask(app, `GET /${address}`)).statusCode, 200);
  t.equal(await statusAt(now + 60), 200);
  for (const expires of [now - 1, now + 2 * HOUR_S, 999_999_999_999]) t.equal(await statusAt(expires), 401);
});

t.test('with a master key both are encrypted, also existing ones, and what they signed stays valid', async (t) => {
  const testDatabase = await testMongo(t);
  const plain = await buildTestApp(t, {}, testDatabase);
  const id = await fill(plain.app);
  // As the first versions kept them.
  for (const { _id, value } of await secretsOf(plain.services).find().toArray()) {
    if (_id === 'refresh-tokens' || _id === 'letter-codes') continue;
    const bytes = new Binary(Buffer.from(String(value), 'base64'));
    await secretsOf(plain.services).updateOne({ _id }, { $set: { value: bytes } });
  }
  const before = await sign(plain.app, id);
  const [first, second] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'));
  const marks = async (services: Services) =>
    (await secretsOf(services).find().sort({ _id: 1 }).toArray()).map(({ value }) => String(value).slice(0, 14));
  const encrypted = await buildTestApp(t, { MILLRACE_MASTER_KEY: `${first}` }, testDatabase);
  const [mark, ...others] = await marks(encrypted.services);
  t.match(mark, /^enc1\.[\w-]{8}\.$/);
  t.strictSame(others, [mark, mark, mark, mark]);
  t.strictSame(await use(encrypted.app, before), [200, 200]);

  await encrypted.services.auth.rotateKeys(false);
  const next = await buildTestApp(t, { MILLRACE_MASTER_KEY: `${second},${first}` }, testDatabase);
  t.not((await marks(next.services))[0], mark, 'the next master key takes over');
  const last = await buildTestApp(t, { MILLRACE_MASTER_KEY: `${second}` }, testDatabase);
  t.strictSame(await use(last.app, before), [200, 200], 'also of the secrets that were replaced');
  await t.rejects(buildTestApp(t, { MILLRACE_MASTER_KEY: `${first}` }, testDatabase), {
    message: /MILLRACE_MASTER_KEY to its previous value/,
  });
});

t.test('rotation replaces both in every process; what was signed before stays valid, unless they leaked', async (t) => {
  const testDatabase = await testMongo(t);
  const [one, other] = [await buildTestApp(t, {}, testDatabase), await buildTestApp(t, {}, testDatabase)];
  const id = await fill(one.app);
  const before = await sign(one.app, id);
  const values = async () =>
    (await secretsOf(one.services).find().sort({ _id: 1 }).toArray()).map(({ value }) => value);
  const [cursors, addresses, codes, refresh] = await values();
  const knowing = (services: Services) => services.auth.signing.cursors.verifying.length;

  await one.services.auth.rotateKeys(false);
  const rotated = await values();
  t.not(rotated[0], cursors);
  t.not(rotated[1], addresses);
  t.equal(rotated[2], codes, 'the secret for hashed e-mail codes is unchanged: e-mails already sent work');
  t.equal(rotated[3], refresh, 'what derives refresh tokens stays: sessions go on');
  await until(() => knowing(other.services) === 2, 'the other process knows the new one');
  for (const { app } of [one, other]) t.strictSame(await use(app, before), [200, 200]);
  const after = await sign(one.app, id);
  t.strictSame(await use(other.app, after), [200, 200]);

  await one.services.auth.rotateKeys(true);
  await until(() => knowing(other.services) === 1, 'the other process has forgotten the old ones');
  for (const { app } of [one, other]) {
    t.strictSame(await use(app, before), [401, 400]);
    t.strictSame(await use(app, after), [401, 400]);
    t.strictSame(await use(app, await sign(one.app, id)), [200, 200]);
  }
});

t.test(
  'A replaced secret signs until all processes know the next, and verifies until its signatures have expired.',
  async (t) => {
    const { services } = await buildTestApp(t);
    let now = Date.now();
    const terms = {
      mongo: services.mongo,
      name: 'test',
      lifetimeMs: HOUR_S * 1_000,
      encryption: new Encryption([]),
      now: () => now,
    };
    const secret = new SigningSecret(terms);
    await secret.start();
    const old = secret.signing;
    await Promise.all([secret.rotate(false), new SigningSecret(terms).rotate(false)]);
    await secret.reload();
    t.equal(secret.verifying.length, 3, 'of two at once neither is lost');
    t.ok(secret.verifying.some((key) => key.equals(old)));
    t.notOk(secret.verifying[0]?.equals(secret.signing), 'the newest does not sign yet');
    now += 5_000;
    t.ok(secret.verifying[0]?.equals(secret.signing), 'now it does');
    now += HOUR_S * 1_000;
    t.ok(secret.verifying.some((key) => key.equals(old)));
    now += 61_000;
    t.equal(secret.verifying.length, 1);
    await secret.rotate(false);
    t.equal(secret.verifying.length, 2, 'expired ones are removed');
  },
);
