/** Lists of files in the query language: filters, order, pages, counts, fields, and rejected queries. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { uploadOne } from '../helpers/files/upload.ts';
import { runScenarios } from '../helpers/scenario.ts';

const { app } = await buildTestApp(t);
const PNG = '\x89PNG\r\n\x1a\n';
const FILES = [
  ['b.txt', 'text/plain', 'bb', { album: 1, tags: ['red'] }],
  ['a.png', 'image/png', PNG, { album: 2, tags: ['red', 'blue'] }],
  ['c.txt', 'text/plain', 'c', null],
  ['Ä.txt', 'text/plain', 'dddd', { album: 10 }],
  ['a.txt', 'text/plain', 'eeeee', { album: '2' }],
] as const;
const created: { id: string; name: string; createdAt: string }[] = [];
for (const [name, type, bytes, metadata] of FILES) {
  created.push(
    await uploadOne(app, { name, type, bytes: Buffer.from(bytes, 'latin1') }, ['metadata', JSON.stringify(metadata)]),
  );
}
const names = async (query: string): Promise<string[]> => {
  const response = await app.inject(`/files?${query}`);
  if (response.statusCode !== 200) throw new Error(response.body);
  return response.json().map(({ name }: { name: string }) => name);
};

const REQUESTED: readonly (readonly [string, readonly string[]])[] = [
  ['', ['b.txt', 'a.png', 'c.txt', 'Ä.txt', 'a.txt']],
  ['type=image/png', ['a.png']],
  ['type[startsWith]=text/&size[gte]=4', ['Ä.txt', 'a.txt']],
  ['name=a.txt&name=b.txt', ['b.txt', 'a.txt']],
  ['name[endsWith]=.png', ['a.png']],
  ['metadata.album=2', ['a.png', 'a.txt']],
  ['metadata.tags=blue', ['a.png']],
  ['metadata=null', ['c.txt']],
  ['filter={"size":{"$in":[1,2]}}', ['b.txt', 'c.txt']],
  [`id=${created[2]?.id}`, ['c.txt']],
  [`createdAt[gte]=${created[0]?.createdAt}`, ['b.txt', 'a.png', 'c.txt', 'Ä.txt', 'a.txt']],
  ['createdAt[gt]=$now', []],
  ['createdBy=null&sort=-size', ['a.png', 'a.txt', 'Ä.txt', 'b.txt', 'c.txt']],
  ['sort=name', ['a.png', 'a.txt', 'b.txt', 'c.txt', 'Ä.txt']],
  ['sort=name&skip=3', ['c.txt', 'Ä.txt']],
  ['limit=0', []],
];
for (const [query, expected] of REQUESTED) {
  t.test(query || 'nothing asked', async (t) => {
    t.same(await names(query.replace('{', '%7B')), expected);
  });
}

t.test('Pages continue where they stopped, in both directions.', async (t) => {
  const seen: string[] = [];
  let next = '/files?sort=-size&limit=2';
  let back = '';
  for (let page = 0; page < 3; page++) {
    const response = await app.inject(next);
    seen.push(...response.json().map(({ name }: { name: string }) => name));
    next = /<([^>]*)>; rel="next"/.exec(String(response.headers['link']))?.[1] ?? '';
    back = /<([^>]*)>; rel="prev"/.exec(String(response.headers['link']))?.[1] ?? back;
  }
  t.same(seen, ['a.png', 'a.txt', 'Ä.txt', 'b.txt', 'c.txt']);
  t.equal(next, '', 'the last page has no next one');
  const before = (await app.inject(back)).json().map(({ name }: { name: string }) => name);
  t.same(before, ['Ä.txt', 'b.txt']);
});

await runScenarios(t, app, [
  {
    name: 'counts',
    request: 'GET /files?type=text/plain&limit=1&count=exact',
    status: 200,
    expectHeaders: {
      'millrace-count': '4',
      'millrace-count-kind': 'exact',
      'millrace-next': /./,
      'millrace-position': /./,
    },
  },
  {
    name: 'HEAD has the headers',
    request: 'HEAD /files?count=exact',
    status: 200,
    text: '',
    expectHeaders: { 'millrace-count': '5' },
  },
  {
    name: 'fields',
    request: 'GET /files?name=a.png&fields=name,metadata.album',
    status: 200,
    text: `[{"id":"${created[1]?.id}","name":"a.png","metadata":{"album":2}}]`,
  },
  {
    name: 'computed fields',
    request: 'GET /files?limit=1&fields=url,-id',
    status: 200,
    expect: [{ id: /^[0-9a-f]{24}$/, url: /^http/ }],
  },
  {
    name: 'fields left out',
    request: 'GET /files?name=c.txt&fields=-url,-sha256',
    status: 200,
    expect: [{ name: 'c.txt', metadata: null }],
  },
  {
    name: 'a field that files do not have',
    request: 'GET /files?colour=red',
    status: 400,
    code: 'unknown-parameter',
    expect: { hint: /id, name, type/ },
  },
  {
    name: 'the store of the bytes is not shown',
    request: 'GET /files?store=gridfs',
    status: 400,
    code: 'unknown-parameter',
  },
  { name: 'nor by sorting', request: 'GET /files?sort=store', status: 400, code: 'unknown-parameter' },
  {
    name: 'nor deep in a filter',
    request: 'GET /files?filter=%7B"$or":[%7B"name":"x"%7D,%7B"_meta.updatedBy":null%7D]%7D',
    status: 400,
    code: 'unknown-parameter',
  },
  {
    name: 'actor and request of a change are not shown',
    request: 'GET /files?filter=%7B"$or":[%7B"name":"x"%7D,%7B"_meta.by":null%7D]%7D',
    status: 400,
    code: 'invalid-filter',
  },
  { name: 'a url cannot be queried', request: 'GET /files?url=x', status: 400, code: 'unknown-parameter' },
  {
    name: 'files expand nothing',
    request: 'GET /files?expand=createdBy:users',
    status: 400,
    code: 'unknown-parameter',
  },
  {
    name: 'an operator that does not exist',
    request: 'GET /files?size[above]=1',
    status: 400,
    code: 'unknown-operator',
  },
  {
    name: 'a cursor of another question',
    request: 'GET /files?limit=1&cursor=abc',
    status: 400,
    code: 'cursor-mismatch',
  },
  { name: 'too large a page', request: 'GET /files?limit=1001', status: 400, code: 'invalid-parameter' },
]);
