/**
 * A slow list that reads far more documents than it returns names the missing index: in `Millrace-Hint`, and once in
 * the log. In this test every list counts as slow, so that nothing depends on the speed of the machine.
 */
import type { LightMyRequestResponse } from 'fastify';
import pino from 'pino';
import t, { type Test } from 'tap';
import { buildApp } from '../../../src/app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { createServices } from '../../../src/services.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { speakingAs, user } from '../../helpers/principals.ts';
import { until } from '../../helpers/until.ts';

const DOCUMENTS = 5_000;

async function withItems(t: Test, slowMs: number) {
  const { url, database } = await testMongo(t);
  const settings = { MILLRACE_DB: database, PORT: '0', MILLRACE_INDEX_ADVICE_AFTER_MS: String(slowMs) };
  const log: string[] = [];
  const services = await createServices(loadConfig(settings), url, { onAdvice: (text) => log.push(text) });
  const app = await buildApp(services, pino({ level: 'silent' }));
  t.teardown(async () => {
    await app.close();
    await services.close();
  });
  await app.inject({ method: 'PUT', url: '/admin/collections/items/indexes', payload: [] });
  const items = services.mongo.data.collection('items');
  const score = (n: number) => (n * 7_919) % DOCUMENTS;
  await items.insertMany(
    Array.from({ length: DOCUMENTS }, (_, n) => ({ category: n % 20, score: score(n), team: n % 2, text: `t${n}` })),
  );
  const request = (query: string, headers: Record<string, string> = {}) =>
    app.inject({ url: `/api/items?${query}`, headers });
  return { app, parts: services, log, request };
}

const hintOf = ({ statusCode, headers }: LightMyRequestResponse): string | null => {
  if (statusCode !== 200) throw new Error(`The list responded with ${statusCode}`);
  return headers['millrace-hint'] === undefined ? null : String(headers['millrace-hint']);
};
const missing = (fields: string) => `This list took long because an index on ${fields} is missing.`;

t.test('a slow list names the missing index', { timeout: 120_000 }, async (t) => {
  const { app, log, request } = await withItems(t, 1);
  const reported = new Set<string>();

  for (const [query, fields] of [
    ['sort=-score&limit=20', '["-score"]'],
    ['category=3&sort=-score&limit=20', '["category","-score"]'],
    ['score=17', '["score"]'],
    ['score=17&limit=5', '["score"]'],
    ['score[gt]=4990&text[contains]=t', '["score"]'],
    ['team=1&score[lt]=20&sort=text&limit=4', '["team","text","score"]'],
    ['filter={"$and":[{"text":"t5"},{"team":{"$in":[0,1]}}]}', '["text","team"]'],
  ] as const) {
    await t.test(`${query} needs an index on ${fields}`, async (t) => {
      log.length = 0;
      t.equal(hintOf(await request(query)), missing(fields), 'already in the first response');
      t.equal(hintOf(await request(query)), missing(fields));
      const lines = log.filter((line) => line.includes(`${fields} is missing`));
      t.equal(lines.length, reported.has(fields) ? 0 : 1, 'the log says it once');
      if (!reported.has(fields))
        t.match(lines, [/^A list of 'items' took \d+ ms and read 5,000 documents to return \d/]);
      reported.add(fields);
    });
  }

  await t.test('a slow list has no hint where no index would help, or it returns what it reads', async (t) => {
    for (const query of [
      'text[contains]=t17&limit=5',
      'limit=20',
      '',
      'sort=-score',
      'sort=-score&limit=1000',
      'id=x',
    ]) {
      t.equal(hintOf(await request(query)), null, query);
    }
  });

  await t.test('an index that serves only part of a list is detected later, by the database', async (t) => {
    await app.inject({ method: 'PUT', url: '/admin/collections/items/indexes', payload: [{ fields: ['category'] }] });
    log.length = 0;
    const query = 'category=4&sort=text&limit=2';
    t.equal(hintOf(await request(query)), null, 'not in the first response');
    await until(async () => hintOf(await request(query)) === missing('["category","text"]'), 'in one that comes later');
    t.match(log, [/read 25\d documents to return 2: an index on \["category","text"\] is missing$/], 'once in the log');
  });

  await t.test('a list without limit and with few results is explained by the database as well', async (t) => {
    const query = 'score[lt]=40';
    await until(async () => hintOf(await request(query)) === missing('["score"]'), 'it is said in the end');
    t.equal((await request(query)).json().length, 40);
  });

  await t.test('a slow list with the index has no hint', async (t) => {
    const payload = [{ fields: ['category', '-score'] }, { fields: ['score'] }];
    await app.inject({ method: 'PUT', url: '/admin/collections/items/indexes', payload });
    for (const query of ['category=3&sort=-score&limit=20', 'sort=-score&limit=20', 'score=17']) {
      t.equal(hintOf(await request(query)), null, query);
    }
  });
});

t.test('a fast list is not checked', { timeout: 120_000 }, async (t) => {
  const { log, request } = await withItems(t, 2_000_000_000);
  t.equal(hintOf(await request('sort=-score&limit=20')), null);
  t.strictSame(log, []);
});

t.test('the suggested index has no fields of policies', { timeout: 120_000 }, async (t) => {
  const { parts: services, request } = await withItems(t, 1);
  const field = speakingAs(services)(user('m'));
  const read = { resources: ['items'], actions: ['read'] };
  withPolicies(services, [{ ...read, filter: { team: 1 }, fields: { read: ['*', '-team'] } }]);
  t.equal(hintOf(await request('sort=-score&limit=20', field)), missing('["-score"]'));
});
