/**
 * What the installation signs besides tokens, addresses of files and page cursors: how long it holds, that its secrets are sealed
 * by the master key, and that rotation reaches them.
 */
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { Binary } from 'mongodb';
import t from 'tap';
import { SigningSecret } from '../../src/database/signing-secret.ts';
import { isSigned, signedQuery } from '../../src/files/signature.ts';
import { Sealer } from '../../src/kernel/sealer.ts';
import type { Parts } from '../../src/parts.ts';
import { ask } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { multipart } from '../helpers/files/upload.ts';
import { testMongo } from '../helpers/mongo.ts';
import { until } from '../helpers/until.ts';

const HOUR_S = 3_600;
const KEY = createSecretKey(randomBytes(32));

interface SecretRow {
  _id: string;
  value: string | Binary;
}

const secretsOf = (parts: Parts) => parts.mongo.log.collection<SecretRow>('secrets');
const cursorOf = (link: unknown) => /cursor=([\w-]+)/.exec(String(link))?.[1] ?? '';

/** A file, and two documents to page through. */
async function fill(app: FastifyInstance): Promise<string> {
  const { send, headers } = await multipart({ name: 'a.txt' });
  const made = await app.inject({ method: 'POST', url: '/files', payload: send, headers });
  for (const n of [1, 2]) await ask(app, 'POST /api/pages', { n });
  if (made.statusCode !== 200) throw new Error(made.body);
  return made.json().id;
}

/** An address of the file and a cursor, as this process signs them now. */
async function sign(app: FastifyInstance, id: string) {
  const { url } = (await ask(app, `POST /files/${id}/sign`)).json();
  const page = await ask(app, 'GET /api/pages?limit=1');
  return { address: String(url).replace(/^https?:\/\/[^/]+\//, ''), cursor: cursorOf(page.headers['link']) };
}

/** The statuses that both get in a process. */
async function use(app: FastifyInstance, { address, cursor }: Awaited<ReturnType<typeof sign>>): Promise<number[]> {
  const [file, page] = [await ask(app, `GET /${address}`), await ask(app, `GET /api/pages?limit=1&cursor=${cursor}`)];
  return [file.statusCode, page.statusCode];
}

t.test('an address that holds for longer than any we make is refused, also when the signature is right', async (t) => {
  const now = Math.floor(Date.now() / 1_000);
  const holds = (expires: number) => isSigned([KEY], 'a', signedQuery(KEY, 'a', expires), now);
  t.ok(holds(now + 1));
  t.ok(holds(now + HOUR_S));
  for (const expires of [now, now + HOUR_S + 61, now + 100 * HOUR_S, 999_999_999_999]) {
    t.throws(() => holds(expires), { code: 'invalid-credential' }, String(expires - now));
  }
});

t.test('a right signature of an address that has ended, or without end, gets nothing over HTTP', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const id = await fill(app);
  const { address } = await sign(app, id);
  const value = (await secretsOf(parts).findOne({ _id: 'file-addresses' }))?.value;
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

t.test(
  'with a master key both are sealed, those that stood there in clear too, and what they signed holds',
  async (t) => {
    const place = await testMongo(t);
    const plain = await buildTestApp(t, {}, place);
    const id = await fill(plain.app);
    // As the first versions kept them.
    for (const { _id, value } of await secretsOf(plain.parts).find().toArray()) {
      if (_id === 'refresh-tokens' || _id === 'letter-codes') continue;
      const bytes = new Binary(Buffer.from(String(value), 'base64'));
      await secretsOf(plain.parts).updateOne({ _id }, { $set: { value: bytes } });
    }
    const before = await sign(plain.app, id);
    const [first, second] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'));
    const marks = async (parts: Parts) =>
      (await secretsOf(parts).find().sort({ _id: 1 }).toArray()).map(({ value }) => String(value).slice(0, 17));
    const sealed = await buildTestApp(t, { MILLRACE_MASTER_KEY: `${first}` }, place);
    const [mark, ...others] = await marks(sealed.parts);
    t.match(mark, /^sealed1\.[\w-]{8}\.$/);
    t.strictSame(others, [mark, mark, mark, mark]);
    t.strictSame(await use(sealed.app, before), [200, 200]);

    await sealed.parts.auth.rotateKeys(false);
    const next = await buildTestApp(t, { MILLRACE_MASTER_KEY: `${second},${first}` }, place);
    t.not((await marks(next.parts))[0], mark, 'the next master key takes over');
    const last = await buildTestApp(t, { MILLRACE_MASTER_KEY: `${second}` }, place);
    t.strictSame(await use(last.app, before), [200, 200], 'also of the secrets that were replaced');
    await t.rejects(buildTestApp(t, { MILLRACE_MASTER_KEY: `${first}` }, place), {
      message: /MILLRACE_MASTER_KEY to the value that it had/,
    });
  },
);

t.test('rotation replaces both in every process; what was signed before holds, unless they leaked', async (t) => {
  const place = await testMongo(t);
  const [one, other] = [await buildTestApp(t, {}, place), await buildTestApp(t, {}, place)];
  const id = await fill(one.app);
  const before = await sign(one.app, id);
  const values = async () => (await secretsOf(one.parts).find().sort({ _id: 1 }).toArray()).map(({ value }) => value);
  const [cursors, addresses, codes, refresh] = await values();
  const knowing = (parts: Parts) => parts.auth.signing.cursors.verifying.length;

  await one.parts.auth.rotateKeys(false);
  const rotated = await values();
  t.not(rotated[0], cursors);
  t.not(rotated[1], addresses);
  t.equal(rotated[2], codes, 'what hashes codes of letters stays: letters that were sent work');
  t.equal(rotated[3], refresh, 'what derives refresh tokens stays: sessions go on');
  await until(() => knowing(other.parts) === 2, 'the other process knows the new one');
  for (const { app } of [one, other]) t.strictSame(await use(app, before), [200, 200]);
  const after = await sign(one.app, id);
  t.strictSame(await use(other.app, after), [200, 200]);

  await one.parts.auth.rotateKeys(true);
  await until(() => knowing(other.parts) === 1, 'the other process has forgotten the old ones');
  for (const { app } of [one, other]) {
    t.strictSame(await use(app, before), [401, 400]);
    t.strictSame(await use(app, after), [401, 400]);
    t.strictSame(await use(app, await sign(one.app, id)), [200, 200]);
  }
});

t.test('a replaced secret signs until all know the next, and verifies until what it signed has ended', async (t) => {
  const { parts } = await buildTestApp(t);
  let now = Date.now();
  const terms = {
    mongo: parts.mongo,
    name: 'test',
    lifetimeMs: HOUR_S * 1_000,
    sealer: new Sealer([]),
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
  t.equal(secret.verifying.length, 2, 'those that have ended are not kept');
});
