/** Startup warnings about an unsafe database. */
import t from 'tap';
import { databaseWarnings } from '../../src/database/version-warnings.ts';
import { dataFolder } from '../helpers/database/embedded-program.ts';
import { testReplicaSet } from '../helpers/database/replica-set.ts';
import { startMillrace } from '../helpers/programs/millrace.ts';
import { until } from '../helpers/until.ts';

const SAFE = { version: '8.0.30', authenticated: true, embedded: false, production: true };
const OPEN = /MongoDB requires no password/;

t.test('a version below the first one without published vulnerabilities is reported, with that one', async (t) => {
  for (const [version, floor] of [
    ['6.0.5', '7.0.41'],
    ['6.0.28', '7.0.41'],
    ['7.0.40', '7.0.41'],
    ['7.3.4', '8.0.30'],
    ['8.0.29', '8.0.30'],
    ['8.1.2', '8.2.10'],
    ['8.2.6', '8.2.10'],
    ['8.3.2', '8.3.3'],
    ['8.0.30-rc0', null],
    ['7.0.41', null],
    ['8.0.30', null],
    ['8.0.100', null],
    ['8.2.10', null],
    ['9.0.0', null],
  ] as const) {
    const said = databaseWarnings({ ...SAFE, version });
    t.strictSame(said, floor === null ? [] : [`MongoDB ${version} has known vulnerabilities. Use ${floor} or newer.`]);
  }
});

t.test('the embedded database is reported in production, one without authentication only there', async (t) => {
  t.strictSame(databaseWarnings({ ...SAFE, version: '6.0.5', embedded: true, production: false }), []);
  t.match(databaseWarnings({ ...SAFE, version: '6.0.5', embedded: true }), [/MONGODB_URL or MONGOD_BINARY/]);
  t.strictSame(databaseWarnings({ ...SAFE, authenticated: false, production: false }), []);
  t.match(databaseWarnings({ ...SAFE, authenticated: false }), [OPEN]);
});

// That it is silent about a database with authentication: test/e2e/production.test.ts.
t.test('the program warns at its start', async (t) => {
  const { url } = await testReplicaSet(t);
  const env = { MONGODB_URL: url, MILLRACE_MODE: 'production' };
  const open = await startMillrace(t, { folder: await dataFolder(t), env });
  await until(() => OPEN.test(open.output()), 'it warns of missing authentication');
  t.match(open.output(), /MongoDB 6\.\d+\.\d+ has known vulnerabilities/);
});
