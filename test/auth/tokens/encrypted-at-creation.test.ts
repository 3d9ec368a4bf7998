/**
 * With a master key no secret is ever written in clear text, not even for a moment: the oplog keeps every write, and a
 * copy of the database contains the oplog.
 */
import { randomBytes } from 'node:crypto';
import { type Document, MongoClient } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { ask, signInAdmin, signUp } from '../../helpers/users.ts';

const ENCRYPTED = /^enc1\.[\w-]{8}\.[\w-]+$/;
/** The collections with secrets, and their fields. */
const FIELDS: Readonly<Record<string, string>> = {
  secrets: 'value',
  signing_keys: 'privateKey',
  provider_secrets: 'clientSecret',
  webhook_secrets: 'encrypted',
};

t.test('a secret is encrypted before it is written for the first time', async (t) => {
  const testDatabase = await testMongo(t);
  const client = await MongoClient.connect(testDatabase.url);
  t.teardown(() => client.close());
  const oplog = client.db('local').collection('oplog.rs');
  const [newest] = await oplog.find().sort({ $natural: -1 }).limit(1).toArray();

  const settings = { MILLRACE_MASTER_KEY: randomBytes(32).toString('base64') };
  const { app, services } = await buildTestApp(t, settings, testDatabase);
  const owner = await signInAdmin(app, services);
  await ask(app, 'POST /auth/refresh', { refreshToken: (await signUp(app, 'ada')).refreshToken });
  const hub = { name: 'hub', kind: 'github', clientId: 'c', clientSecret: 'planted' };
  t.equal((await ask(app, 'POST /admin/providers', hub, owner)).statusCode, 201);
  const hook = { url: 'https://hooks.example.org/', types: ['posts.created'], headers: { 'x-secret': 'planted' } };
  const created = await ask(app, 'POST /webhooks/endpoints', hook, owner);
  t.equal(created.statusCode, 201, created.body);
  await services.auth.rotateKeys(false);
  await services.auth.rotateKeys(true);

  /** Each value of each field with secrets, by collection. */
  const found = new Map<string, string[]>(Object.keys(FIELDS).map((name) => [name, []]));
  const look = (name: string, value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [field, one] of Object.entries(value)) {
      if (field === FIELDS[name]) found.get(name)?.push(String(one));
      else look(name, one);
    }
  };
  const entries = await oplog.find({ ts: { $gt: newest?.['ts'] } }).toArray();
  for (const { ns, o } of entries.flatMap(unpacked)) {
    for (const name of Object.keys(FIELDS)) if (ns === `${testDatabase.database}_log.${name}`) look(name, o);
  }
  for (const [name, values] of found) {
    t.ok(values.length > 0, `${name}: ${values.length} values were written`);
    t.strictSame(
      values.filter((value) => !ENCRYPTED.test(value)),
      [],
      `${name}: all of them encrypted`,
    );
  }
});

/** An entry, or those of its transaction. */
function unpacked(entry: Document): readonly Document[] {
  return entry['o']?.['applyOps'] ?? [entry];
}
