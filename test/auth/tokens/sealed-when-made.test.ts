/**
 * With a master key no secret is ever written in clear, not even until the next write seals it: the oplog keeps every
 * write, and a copy of the database holds the oplog.
 */
import { randomBytes } from 'node:crypto';
import { type Document, MongoClient } from 'mongodb';
import t from 'tap';
import { ask, signInOwner, signUp } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { testMongo } from '../../helpers/mongo.ts';

const SEALED = /^sealed1\.[\w-]{8}\.[\w-]+$/;
/** Where secrets stand, and the members that hold them. */
const MEMBERS: Readonly<Record<string, string>> = {
  secrets: 'value',
  keyring: 'privateKey',
  provider_secrets: 'clientSecret',
  webhook_secrets: 'sealed',
};

t.test('a secret is sealed before it is written for the first time', async (t) => {
  const place = await testMongo(t);
  const client = await MongoClient.connect(place.url);
  t.teardown(() => client.close());
  const oplog = client.db('local').collection('oplog.rs');
  const [newest] = await oplog.find().sort({ $natural: -1 }).limit(1).toArray();

  const settings = { MILLRACE_MASTER_KEY: randomBytes(32).toString('base64') };
  const { app, parts } = await buildTestApp(t, settings, place);
  const owner = await signInOwner(app, parts);
  await ask(app, 'POST /auth/refresh', { refreshToken: (await signUp(app, 'ada')).refreshToken });
  const hub = { name: 'hub', kind: 'github', clientId: 'c', clientSecret: 'planted' };
  t.equal((await ask(app, 'POST /admin/providers', hub, owner)).statusCode, 201);
  const hook = { url: 'https://hooks.example.org/', types: ['posts.created'], headers: { 'x-secret': 'planted' } };
  const made = await ask(app, 'POST /webhooks/endpoints', hook, owner);
  t.equal(made.statusCode, 201, made.body);
  await parts.auth.rotateKeys(false);
  await parts.auth.rotateKeys(true);

  /** Each value of each member that holds secrets, by collection. */
  const found = new Map<string, string[]>(Object.keys(MEMBERS).map((name) => [name, []]));
  const look = (name: string, value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [member, one] of Object.entries(value)) {
      if (member === MEMBERS[name]) found.get(name)?.push(String(one));
      else look(name, one);
    }
  };
  const entries = await oplog.find({ ts: { $gt: newest?.['ts'] } }).toArray();
  for (const { ns, o } of entries.flatMap(unpacked)) {
    for (const name of Object.keys(MEMBERS)) if (ns === `${place.database}_log.${name}`) look(name, o);
  }
  for (const [name, values] of found) {
    t.ok(values.length > 0, `${name}: ${values.length} values were written`);
    t.strictSame(
      values.filter((value) => !SEALED.test(value)),
      [],
      `${name}: all of them sealed`,
    );
  }
});

/** An entry, or those of the transaction that it is. */
function unpacked(entry: Document): readonly Document[] {
  return entry['o']?.['applyOps'] ?? [entry];
}
