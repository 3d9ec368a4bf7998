/**
 * Malicious requests: filters, patterns, paths, lists and writes by filter far beyond any need. Each gets a code of the
 * error table in time and leaves no memory behind; the figures are printed.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { InjectOptions } from 'fastify';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';

const QUERY_MS = 1_000;
/** Time limit of one response: the database's time, and as much again for everything else on a busy machine. */
const RESPONSE_MS = 3_000;
const HEAP_MIB = 64;
const DOCUMENTS = 10_500;

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const encoded = encodeURIComponent;
const nested = (depth: number, inside: unknown): string =>
  `${'{"$and":['.repeat(depth)}${JSON.stringify(inside)}${']}'.repeat(depth)}`;
const list = (count: number): string => Array.from({ length: count }, (_, n) => n).join(',');
const get = (query: string): InjectOptions => ({ method: 'GET', url: `/api/many?${query}` });
const request = (body: string): InjectOptions => ({
  method: 'POST',
  url: '/api/many/_query',
  payload: body,
  headers: { 'content-type': 'application/json' },
});
const write = (method: 'PATCH' | 'DELETE', query: string, most: number): InjectOptions => ({
  method,
  url: `/api/many?${query}`,
  headers: { prefer: `max-affected=${most}`, ...(method === 'PATCH' ? { 'content-type': 'application/json' } : {}) },
  ...(method === 'PATCH' ? { payload: '{"hit":1}' } : {}),
});
const update = (body: unknown, type = 'vnd.millrace.update+json'): InjectOptions => ({
  method: 'PATCH',
  url: '/api/one/a',
  payload: JSON.stringify(body),
  headers: { 'content-type': `application/${type}` },
});

type Row = readonly [name: string, request: InjectOptions, status: number, code?: string];

const BAD = 400;
/** A URL beyond what the server reads of a request's head. */
const TOO_LONG = 414;
const FILTER = 'invalid-filter';
const PARAMETER = 'invalid-parameter';

const TEXTS = JSON.stringify({ $icontains: 'k'.repeat(1_024), $ilike: 'k'.repeat(1_024) });

const FILTERS: readonly Row[] = [
  ['1,000 values', get(`n[in]=${list(1_000)}&limit=1`), 200],
  ['1,001 values', get(`n[in]=${list(1_001)}`), BAD, FILTER],
  ['1,001 values as JSON', request(`{"filter":{"n":{"$in":[${list(1_001)}]}}}`), BAD, FILTER],
  ['100,000 values', request(`{"filter":{"n":{"$in":[${list(100_000)}]}}}`), BAD, FILTER],
  ['1,001 alternatives', request(`{"filter":{"$or":[${'{"n":1},'.repeat(1_000)}{"n":1}]}}`), BAD, FILTER],
  ['1,001 conditions', request(`{"filter":{${Array.from({ length: 1_001 }, (_, n) => `"a${n}":1`)}}}`), BAD, FILTER],
  ['a mark of the driver', get(`filter=${encoded('{"n":{"_bsontype":"Long"}}')}`), BAD, FILTER],
  ['it as a field', get('_bsontype=1'), BAD, FILTER],
  ['it in a write', write('DELETE', `filter=${encoded('{"n":{"_bsontype":"Long"}}')}`, 1), BAD, FILTER],
  ['it in a stream', { ...get('_bsontype=1'), headers: { accept: 'text/event-stream' } }, BAD, FILTER],
  ['no type', request('{"filter":{"n":{"$elemMatch":{"$type":[]}}}}'), BAD, FILTER],
  ['two long texts in one', request(`{"filter":{"n":{"$elemMatch":${TEXTS}}}}`), BAD, FILTER],
  ['neither of two long texts', request(`{"filter":{"n":{"$elemMatch":{"$not":${TEXTS}}}}}`), BAD, FILTER],
  ['the id out, and in part', get('n=1&fields=-id.x,-id'), 200],
  ['the id out, which stays, and in part in', get('n=1&fields=-id,id.x'), 200],
  ['depth 33', request(`{"filter":${nested(33, { n: 1 })}}`), BAD, FILTER],
  ['depth 33 in the URL', get(`filter=${encoded(nested(33, { n: 1 }))}`), BAD, FILTER],
  ['depth 10,000', request(`{"filter":${nested(10_000, {})}}`), BAD, 'json-too-deep'],
  ['depth 10,000 in the URL', get(`filter=${encoded(nested(10_000, {}))}`), TOO_LONG],
  ['depth 400,000, never closed', request(`{"filter":${'['.repeat(400_000)}`), BAD],
  ['1 MiB of a value', request(`{"filter":{"s":"${'x'.repeat(1_000_000)}"}}`), 200],
  ['1 MiB of text to look for', request(`{"filter":{"s":{"$contains":"${'x'.repeat(1_000_000)}"}}}`), BAD, FILTER],
  ['over 1 MiB', request(`{"filter":{"s":"${'x'.repeat(1_048_577)}"}}`), 413, 'body-too-large'],
  ['1 MiB in the URL', get(`filter=${encoded(JSON.stringify({ s: 'x'.repeat(1_000_000) }))}`), TOO_LONG],
  ['code', request('{"filter":{"$where":"while(true){}"}}'), BAD, 'unknown-operator'],
  ['code in a field', get('n[where]=while(true){}'), BAD, 'unknown-operator'],
  ['an expression', request('{"filter":{"$expr":{"$function":{"body":"x"}}}}'), BAD, 'unknown-operator'],
  ['a function', request('{"filter":{"n":{"$function":{}}}}'), BAD, 'unknown-operator'],
  ['names of prototypes', request('{"filter":{"__proto__":{"$gt":1},"constructor.prototype":1}}'), BAD],
  ['a path of 101 steps', get(`${'a.'.repeat(100)}a=1`), BAD],
  ['a path of 500,000 steps', request(`{"filter":{"${'a.'.repeat(500_000)}a":1}}`), BAD],
  ['a path of empty steps', get(`${'.'.repeat(1_000)}=1`), BAD],
  ['a name with NUL', request('{"filter":{"a\\u0000b":1}}'), BAD],
  ['1e400', request('{"filter":{"n":1e400}}'), BAD],
  ['a whole number of 30 digits', request(`{"filter":{"n":${'9'.repeat(30)}}}`), BAD],
  ['30 digits in the URL', get(`n[gt]=${'9'.repeat(30)}&limit=1`), 200],
  ['a number of 100,000 digits', get(`n=${'9'.repeat(100_000)}&limit=1`), TOO_LONG],
  ['a size below 0', get('n[size]=-1'), BAD],
  ['no such type', get('n[type]=javascript'), BAD],
  ['a time far away', get('at[gt]=$now-99999999999999999999d'), BAD],
];

const PATTERNS: readonly Row[] = [
  ['128 characters', get(`s[regex]=${'x'.repeat(128)}&limit=1`), 200],
  ['129 characters', get(`s[regex]=${'x'.repeat(129)}`), BAD, FILTER],
  ['a look behind', get(`s[regex]=${encoded('(?<=a)b')}`), BAD, FILTER],
  ['a back-reference', get(`s[regex]=${encoded('(a)\\1')}`), BAD, FILTER],
  ['recursion', get(`s[regex]=${encoded('(?R)')}`), BAD, FILTER],
  ['repetitions of repetitions', get(`s[regex]=${encoded('((a{100}){100}){100}')}`), BAD, FILTER],
  ['128 parentheses', get(`s[regex]=${encoded(`${'('.repeat(64)}${')'.repeat(64)}`)}&limit=1`), 200],
  ['a class of everything', get(`s[regex]=${encoded('[^\\x00-\\x{10ffff}]')}&limit=1`), 200],
];

/** The server's engine backtracks; it gives up by itself or is stopped by its time limit. */
const BOMBS: readonly Row[] = [
  ...[
    '(a+)+$',
    '(a|a)*b',
    '(a*)*b',
    '(a|aa)+$',
    '([a-z]+)*[0-9]',
    '(.*)(.*)(.*)(.*)(.*)(.*)(.*)[0-9]',
    'a*a*a*a*a*a*b',
  ].map((pattern): Row => [`a bomb: ${pattern}`, get(`bomb[regex]=${encoded(pattern)}`), 0]),
  ['like with 60 stars', get(`bomb[like]=${'*a'.repeat(60)}*b`), 0],
  ['ilike with 500 stars', get(`bomb[ilike]=${'*a'.repeat(500)}*b`), 0],
  ['a bomb among others', get(`bomb[regex]=${encoded('(a+)+$')}&bomb[like]=${'*a'.repeat(60)}*b&limit=1`), 0],
  ['a bomb that counts', get(`bomb[regex]=${encoded('(a|a)*b')}&count=exact&limit=0`), 0],
  ['a bomb by filter', write('DELETE', `bomb[regex]=${encoded('(a|a)*b')}`, 10), 0],
  ['a slow list', get(`${Array.from({ length: 40 }, (_, n) => `slow[icontains]=k${n}`).join('&')}`), 0],
];

const LISTS: readonly Row[] = [
  ['skip 10,001', get('skip=10001'), BAD, PARAMETER],
  ['skip 1e9', get('skip=1e9'), BAD, PARAMETER],
  ['skip 99999999999999999999', get('skip=99999999999999999999'), BAD, PARAMETER],
  ['limit 1,001', get('limit=1001'), BAD, PARAMETER],
  ['limit -1', get('limit=-1'), BAD, PARAMETER],
  ['5 sort keys', get('sort=a,b,c,d,e'), BAD, PARAMETER],
  ['10,000 sort keys', get(`sort=${list(10_000)}`), TOO_LONG],
  ['a sort by 500 steps', get(`sort=${'a.'.repeat(500)}a`), BAD, PARAMETER],
  ['10,000 fields', get(`fields=${list(10_000)}`), TOO_LONG],
  ['1,001 parameters', get(Array.from({ length: 1_001 }, (_, n) => `a${n}=1`).join('&')), BAD],
  ['100,000 parameters', get('a=1&'.repeat(100_000)), TOO_LONG],
  ['11 expansions', get(`expand=${Array.from({ length: 11 }, (_, n) => `a${n}:one`).join()}`), BAD, PARAMETER],
  ['a cursor of 100,000 characters', get(`limit=1&cursor=${'A'.repeat(100_000)}`), TOO_LONG],
  ['a cursor that is none', get('limit=1&cursor=%00%ff'), BAD],
  ['an id of 10,000 characters', { method: 'GET', url: `/api/many/${'a'.repeat(10_000)}` }, 414, 'uri-too-long'],
  ['half an escape', get('a=%E0%A4%A'), BAD],
];

const WRITES: readonly Row[] = [
  ['all of 10,500', write('PATCH', 'filter={}', 20_000), 409, 'too-many-affected'],
  ['all of 10,500, deleted', write('DELETE', 'filter={}', 999_999_999), 409, 'too-many-affected'],
  ['an uncountable number', write('DELETE', 'filter={}', 1e21), BAD],
  ['a number beyond range', update({ $set: { n: 1 }, $mul: { n: 1e308 } }), BAD],
  ['a path of 500 steps', update({ $set: { [`${'a.'.repeat(500)}a`]: 1 } }), BAD],
  ['a position far after the end', update({ $set: { 'l.1000000000': 1 } }), BAD],
  [
    'a patch of 20,000 operations',
    update(Array(20_000).fill({ op: 'add', path: '/l/-', value: 1 }), 'json-patch+json'),
    BAD,
  ],
  [
    'a patch that doubles',
    update(
      Array.from({ length: 60 }, () => ({ op: 'copy', from: '/l', path: '/l/-' })),
      'json-patch+json',
    ),
    413,
    'document-too-large',
  ],
  ['a pointer of 10,000 steps', update([{ op: 'add', path: '/a'.repeat(10_000), value: 1 }], 'json-patch+json'), BAD],
  [
    'a merge of depth 101',
    update(JSON.parse(`${'{"a":'.repeat(101)}1${'}'.repeat(101)}`), 'merge-patch+json'),
    BAD,
    'json-too-deep',
  ],
];

t.test('malicious requests are rejected in time', async (t) => {
  const { app, services } = await buildTestApp(t, {
    MILLRACE_QUERY_TIMEOUT_MS: String(QUERY_MS),
    MILLRACE_UNLIMITED_LIST_TIMEOUT_MS: String(QUERY_MS),
  });
  await app.inject({ method: 'POST', url: '/api/one', payload: { id: 'a', n: 1e300, l: [1] } });
  await app.inject({ method: 'POST', url: '/api/many', payload: { id: 'first', s: 'x' } });
  const bomb = `${'a'.repeat(3_000)}!`;
  const slow = 'lorem ipsum '.repeat(100);
  await services.mongo.data
    .collection<{ _id: string }>('many')
    .insertMany(Array.from({ length: DOCUMENTS }, (_, n) => ({ _id: `d${n}`, n, bomb, slow })));

  let worst = { name: '', ms: 0 };
  let peak = 0;
  let stopped = 0;
  collect();
  const before = process.memoryUsage();

  for (const [title, rows] of Object.entries({ FILTERS, PATTERNS, BOMBS, LISTS, WRITES })) {
    await t.test(title.toLowerCase(), async (t) => {
      for (const [name, request, status, code] of rows) {
        const started = performance.now();
        const response = await app.inject(request);
        const ms = performance.now() - started;
        peak = Math.max(peak, process.memoryUsage().heapUsed);
        if (ms > worst.ms) worst = { name, ms };
        const shown = `${name}: ${response.statusCode} in ${ms.toFixed(0)} ms ${response.body.slice(0, 160)}`;
        if (status === 0) t.ok([200, 503].includes(response.statusCode), shown);
        else t.equal(response.statusCode, status, shown);
        if (response.statusCode >= 400) {
          const problem = response.json();
          t.not(problem.code, 'internal', shown);
          if (code !== undefined) t.equal(problem.code, code, shown);
          if (response.statusCode === 503) {
            t.equal(problem.code, 'query-timeout', shown);
            t.match(response.headers['retry-after'], /^\d+$/);
            stopped += 1;
          }
        }
        t.ok(ms < RESPONSE_MS, shown);
      }
    });
  }

  t.equal(await services.mongo.data.collection('many').countDocuments({ hit: 1 }), 0, 'no rejected write left a trace');
  t.equal(await services.mongo.data.collection('many').estimatedDocumentCount(), DOCUMENTS + 1);
  collect();
  const after = process.memoryUsage();
  const mib = (bytes: number): string => (bytes / 1024 ** 2).toFixed(1);
  const growth = after.heapUsed - before.heapUsed;
  t.ok(stopped > 0, 'the clock stopped some');
  t.comment(`${stopped} stopped by the clock`);
  t.comment(`worst response: ${worst.ms.toFixed(0)} ms (${worst.name})`);
  t.comment(`heap: ${mib(growth)} MiB grown, ${mib(peak - before.heapUsed)} MiB above the start at most`);
  t.comment(`resident: ${mib(after.rss - before.rss)} MiB grown`);
  t.ok(growth < HEAP_MIB * 1024 ** 2, `${mib(growth)} MiB`);
});
