/** The startup output is true. */
import { existsSync, readFileSync } from 'node:fs';
import t from 'tap';
import { startupSummary, unknownSettings } from '../src/cli-text.ts';
import { loadConfig } from '../src/config/config.ts';
import { ALLOW_ALL_POLICY_ID } from '../src/policies/policy-set.ts';
import { buildTestApp } from './helpers/app.ts';
import { dataFolder } from './helpers/database/embedded-program.ts';
import { testMongo } from './helpers/mongo.ts';
import { startMillrace } from './helpers/programs/millrace.ts';
import { ask } from './helpers/users.ts';

t.test('an unknown setting is reported, with a suggestion', async (t) => {
  const said = (name: string, value = 'x') => unknownSettings({ [name]: value });
  for (const [name, meant] of [
    ['MILLRACE_PROT', 'PORT'],
    ['MILLRACE_PORT', 'PORT'],
    ['MILLRACE_MONGODB_URL', 'MONGODB_URL'],
    ['MILLRACE_CORS_ORIGIN', 'MILLRACE_CORS_ORIGINS'],
    ['MILLRACE_MASTERKEY', 'MILLRACE_MASTER_KEY'],
  ] as const) {
    t.strictSame(said(name, 'secret'), [`${name} is not a setting and has no effect. Did you mean ${meant}?`]);
  }
  t.strictSame(said('MILLRACE_XYZZYXYZZY'), [
    'MILLRACE_XYZZYXYZZY is not a setting and has no effect. --help lists the settings.',
  ]);
  for (const name of ['MILLRACE_MODE', 'PORT', 'PROT', 'PATH', 'MONGODB_URI']) t.strictSame(said(name), [], name);
  t.strictSame(said('MILLRACE_XYZZYXYZZY', ''), [], 'what is empty is not set');
});

t.test('variables that Kubernetes sets for services named millrace are not mistaken for settings', async (t) => {
  const reported = {
    MILLRACE_SERVICE_HOST: '10.0.0.1',
    MILLRACE_SERVICE_PORT_HTTP: '3000',
    MILLRACE_PORT: 'tcp://10.0.0.1:3000',
    MILLRACE_PORT_3000_TCP_ADDR: '10.0.0.1',
    MILLRACE_MONGO_SERVICE_HOST: '10.0.0.2',
    MILLRACE_MONGO_SERVICE_PORT: '27017',
    MILLRACE_MONGO_PORT: 'tcp://10.0.0.2:27017',
    MILLRACE_MONGO_PORT_27017_TCP_PROTO: 'tcp',
  };
  t.strictSame(unknownSettings(reported), []);
});

t.test('the summary says that everything is allowed only if it is', async (t) => {
  const running = { url: 'http://127.0.0.1:1', config: loadConfig({}), version: '6', embedded: true };
  const said = (open: boolean) => startupSummary({ ...running, note: null, setUp: null, open });
  t.match(
    said(true),
    /all clients have full access, from this machine only.*curl http:\/\/127\.0\.0\.1:1\/api\/todos/s,
  );
  t.notMatch(said(false), /all clients have full access/);
  t.match(said(false), /access by policies, from this machine only.*Sign in/s);
});

// The open case: test/e2e/program.test.ts.
t.test('the program prints both notices', { timeout: 120_000 }, async (t) => {
  const testDatabase = await testMongo(t);
  await t.test('the program without the initial policy does not say that everything is allowed', async (t) => {
    const { app } = await buildTestApp(t, {}, testDatabase);
    t.equal((await ask(app, `DELETE /admin/policies/${ALLOW_ALL_POLICY_ID}`)).statusCode, 204);
  });
  const env = { MILLRACE_PROT: '1', MONGODB_URL: testDatabase.url, MILLRACE_DB: testDatabase.database };
  const program = await startMillrace(t, { folder: await dataFolder(t), env });
  t.match(program.output(), /MILLRACE_PROT is not a setting.*PORT/);
  t.match(program.output(), /access by policies/);
  t.notMatch(program.output(), /all clients have full access/);
});

t.test('the package description promises only what exists', async (t) => {
  const { description } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const spots: Readonly<Record<string, string>> = {
    documents: 'collections',
    'live data': 'realtime',
    files: 'files',
    'sign-in': 'auth/sign-in',
    policies: 'policies',
  };
  const [, promised = ''] = /: (.+) over MongoDB\.$/.exec(description) ?? [];
  for (const word of promised.split(/, | and /)) {
    t.ok(existsSync(new URL(`../src/${spots[word] ?? word}`, import.meta.url)), word);
  }
});
