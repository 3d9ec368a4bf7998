/**
 * A slow list that reads far more documents than it gives names the index that is missing: in `Millrace-Hint`, and once
 * in the log. Here every list counts as slow, so that nothing depends on how fast the machine is.
 */
import type { LightMyRequestResponse } from 'fastify';
import pino from 'pino';
import t, { type Test } from 'tap';
import { buildApp } from '../../../src/app.ts';
import { loadConfig } from '../../../src/kernel/config/config.ts';
import { makeParts } from '../../../src/parts.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { speakingAs, user } from '../../helpers/principals.ts';
import { until } from '../../helpers/until.ts';

const DOCUMENTS = 5_000;

async function withItems(t: Test, slowMs: number) {
  const { url, database } = await testMongo(t);
  const settings = { MILLRACE_DB: database, PORT: '0', MILLRACE_SLOW_LIST_MS: String(slowMs) };
  const log: string[] = [];
  const parts = await makeParts(loadConfig(settings), url, undefined, undefined, (text) => log.push(text));
  const app = await buildApp(parts, pino({ level: 'silent' }));
  t.teardown(async () => {
    await app.close();
    await parts.close();
  });
  await app.inject({ method: 'PUT', url: '/admin/collections/items/indexes', payload: [] });
  const items = parts.mongo.data.collection('items');
  const score = (n: number) => (n * 7_919) % DOCUMENTS;
  await items.insertMany(
    Array.from({ length: DOCUMENTS }, (_, n) => ({ category: n % 20, score: score(n), team: n % 2, text: `t${n}` })),
  );
  const ask = (query: string, headers: Record<string, string> = {}) =>
    app.inject({ url: `/api/items?${query}`, headers });
  return { app, parts, log, ask };
}

const hintOf = ({ statusCode, headers }: LightMyRequestResponse): string | null => {
  if (statusCode !== 200) throw new Error(`The list was answered with ${statusCode}`);
  return headers['millrace-hint'] === undefined ? null : String(headers['millrace-hint']);
};
const missing = (fields: string) => `This list took long because an index on ${fields} is missing.`;

t.test('a slow list names the index that is missing', { timeout: 120_000 }, async (t) => {
  const { app, log, ask } = await withItems(t, 1);
  const told = new Set<string>();

  for (const [query, fields] of [
    ['sort=-score&limit=20', '["-score"]'],
    ['category=3&sort=-score&limit=20', '["category","-score"]'],
    ['score=17', '["score"]'],
    ['score=17&limit=5', '["score"]'],
    ['score[gt]=4990&text[contains]=t', '["score"]'],
    ['team=1&score[lt]=20&sort=text&limit=4', '["team","text","score"]'],
    ['filter={"$and":[{"text":"t5"},{"team":{"$in":[0,1]}}]}', '["text","team"]'],
  ] as const) {
    await t.test(`${query} wants ${fields}`, async (t) => {
      log.length = 0;
      t.equal(hintOf(await ask(query)), missing(fields), 'in the first answer already');
      t.equal(hintOf(await ask(query)), missing(fields));
      const lines = log.filter((line) => line.includes(`${fields} is missing`));
      t.equal(lines.length, told.has(fields) ? 0 : 1, 'the log says it once');
      if (!told.has(fields)) t.match(lines, [/^A list of 'items' took \d+ ms and read 5,000 documents to give \d/]);
      told.add(fields);
    });
  }

  await t.test('no index would help, or the list gives what it reads', async (t) => {
    for (const query of [
      'text[contains]=t17&limit=5',
      'limit=20',
      '',
      'sort=-score',
      'sort=-score&limit=1000',
      'id=x',
    ]) {
      t.equal(hintOf(await ask(query)), null, query);
    }
  });

  await t.test('an index that serves a part only is found out later, by the database', async (t) => {
    await app.inject({ method: 'PUT', url: '/admin/collections/items/indexes', payload: [{ fields: ['category'] }] });
    log.length = 0;
    const query = 'category=4&sort=text&limit=2';
    t.equal(hintOf(await ask(query)), null, 'not in the first answer');
    await until(async () => hintOf(await ask(query)) === missing('["category","text"]'), 'in one that comes later');
    t.match(log, [/read 25\d documents to give 2: an index on \["category","text"\] is missing$/], 'once in the log');
  });

  await t.test('so is a list without limit that gives some, by the database as well', async (t) => {
    const query = 'score[lt]=40';
    await until(async () => hintOf(await ask(query)) === missing('["score"]'), 'it is said in the end');
    t.equal((await ask(query)).json().length, 40);
  });

  await t.test('with the index there is no hint', async (t) => {
    const payload = [{ fields: ['category', '-score'] }, { fields: ['score'] }];
    await app.inject({ method: 'PUT', url: '/admin/collections/items/indexes', payload });
    for (const query of ['category=3&sort=-score&limit=20', 'sort=-score&limit=20', 'score=17']) {
      t.equal(hintOf(await ask(query)), null, query);
    }
  });
});

t.test('a list that is not slow is not looked at', { timeout: 120_000 }, async (t) => {
  const { log, ask } = await withItems(t, 2_000_000_000);
  t.equal(hintOf(await ask('sort=-score&limit=20')), null);
  t.strictSame(log, []);
});

t.test('the index has no members of policies', { timeout: 120_000 }, async (t) => {
  const { parts, ask } = await withItems(t, 1);
  const member = speakingAs(parts)(user('m'));
  const read = { collections: ['items'], actions: ['read'] };
  withPolicies(parts, [{ ...read, where: { team: 1 }, fields: { read: ['*', '-team'] } }]);
  t.equal(hintOf(await ask('sort=-score&limit=20', member)), missing('["-score"]'));
});
