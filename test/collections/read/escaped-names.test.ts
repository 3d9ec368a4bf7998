/**
 * Fields whose names have a dot, a leading `$` or no characters: `['…']` names them in every path, and hints suggest
 * only what works.
 */
import t, { type Test } from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { fieldsOfSchema } from '../../helpers/schema-fields.ts';

const PACKAGES = [
  { id: 'a', dependencies: { 'socket.io': 4, express: '5' }, $ref: '#/a', '': 1, 'x.y': [{ $z: 1 }, { $z: 5 }] },
  { id: 'b', dependencies: { 'socket.io': 3 }, $ref: '#/b', '': 2, 'x.y': { $z: 3 } },
  { id: 'c', dependencies: { express: '4' }, '': null, "it's": 1, 'back\\slash.': 2, 'a[gte]': 3, 'p,q': 4, '-m': 5 },
];

async function withPackages(t: Test) {
  const { app, services } = await buildTestApp(t);
  t.equal((await app.inject({ method: 'POST', url: '/api/packages', payload: PACKAGES })).statusCode, 201);
  const ids = async (query: string) => {
    const response = await app.inject(`/api/packages?${encodeURI(query)}`);
    t.equal(response.statusCode, 200, `${query} ${response.body}`);
    return response.json<{ id: string }[]>().map(({ id }) => id);
  };
  return { app, parts: services, ids };
}

t.test('filters in both forms, sorts and fields accept escaped names', { timeout: 60_000 }, async (t) => {
  const { app, ids } = await withPackages(t);
  for (const [query, found] of [
    [`dependencies['socket.io']=4`, ['a']],
    [`dependencies['socket.io'][gte]=3`, ['a', 'b']],
    [`dependencies['socket.io'][exists]=false`, ['c']],
    [`dependencies['socket.io'][in]=3,5`, ['b']],
    [`dependencies['express']=5`, ['a']],
    [`['dependencies']['socket.io']=3&dependencies['socket.io']=4`, ['a', 'b']],
    [`['$ref'][startsWith]=#/`.replace('#', '%23'), []],
    [`['']=1`, ['a']],
    [`['']=null`, ['c']],
    [`['x.y']['$z'][gt]=3`, ['a']],
    [`['x.y'].0['$z']=1`, ['a']],
    [`['it\\'s']=1`, ['c']],
    [`['back\\\\slash.']=2`, ['c']],
    [`['a[gte]']=3`, ['c']],
    [`filter={"dependencies['socket.io']":{"$lt":4}}`, ['b']],
    [`filter={"['$ref']":"x","$or":[{"['']":1}]}`, []],
    [`filter={"['x.y']":{"$elemMatch":{"['$z']":{"$gt":1}}}}`, ['a']],
    [`filter={"$nor":[{"['']":{"$in":[1,2]}}]}`, ['c']],
    [`sort=dependencies['socket.io']`, ['c', 'b', 'a']],
    [`sort=-['x.y']['$z'],id`, ['a', 'b', 'c']],
    [`sort=['-m'],-['p,q']`, ['a', 'b', 'c']],
  ] as const) {
    t.strictSame(await ids(query), found, query);
  }
  for (const [fields, shown] of [
    [`dependencies['socket.io'],['$ref']`, { id: 'a', dependencies: { 'socket.io': 4 }, $ref: '#/a' }],
    [`-dependencies['socket.io'],-[''],-['x.y'],-_meta`, { id: 'a', dependencies: { express: '5' }, $ref: '#/a' }],
    [`['x.y']['$z'],['p,q']`, { id: 'a', 'x.y': [{ $z: 1 }, { $z: 5 }] }],
  ] as const) {
    const url = `/api/packages?id=a&fields=${encodeURIComponent(fields)}`;
    t.strictSame((await app.inject(url)).json(), [shown], fields);
    t.strictSame((await app.inject(`/api/packages/a?fields=${encodeURIComponent(fields)}`)).json(), shown, fields);
  }
  const body = {
    filter: { "dependencies['socket.io']": { $exists: true } },
    sort: "-['']",
    fields: ["['']"],
    limit: 1,
  };
  const first = await app.inject({ method: 'POST', url: '/api/packages/_query', payload: body });
  t.strictSame(first.json(), [{ id: 'b', '': 2 }]);
  const cursor = String(first.headers['millrace-next']);
  const second = await app.inject({ method: 'POST', url: '/api/packages/_query', payload: { ...body, cursor } });
  t.strictSame(second.json(), [{ id: 'a', '': 1 }]);
  const page = `/api/packages?sort=${encodeURIComponent("-['']")}&limit=1`;
  const next = await app.inject(`${page}&cursor=${(await app.inject(page)).headers['millrace-next']}`);
  t.match(next.json(), [{ id: 'a' }]);
  const [, prev = ''] = /<([^>]+)>; rel="prev"/.exec(String(next.headers['link'])) ?? [];
  t.match((await app.inject(prev)).json(), [{ id: 'b' }]);
});

t.test('writes, expansions and schemas name such members', { timeout: 60_000 }, async (t) => {
  const { app, ids } = await withPackages(t);
  const set = { $set: { "dependencies['socket.io']": 7, "['$new']": true }, $inc: { "['']": 1 } };
  const type = { 'content-type': 'application/vnd.millrace.update+json', prefer: 'max-affected=5' };
  const url = `/api/packages?filter=${encodeURIComponent('{"[\'$ref\']":"#/b"}')}`;
  const changed = await app.inject({ method: 'PATCH', url, headers: type, payload: set });
  t.strictSame(changed.json(), { matched: 1, modified: 1 }, changed.body);
  t.match((await app.inject('/api/packages/b')).json(), { dependencies: { 'socket.io': 7 }, $new: true, '': 3 });
  await app.inject({ method: 'POST', url: '/api/users', payload: { id: 'u' } });
  await app.inject({ method: 'POST', url: '/api/packages', payload: { id: 'd', 'owner.id': 'u' } });
  const expanded = await app.inject(`/api/packages?id=d&expand=${encodeURIComponent("['owner.id']:users")}`);
  t.match(expanded.json(), [{ _expanded: { "['owner.id']": { id: 'u' } } }]);
  const paths = fieldsOfSchema((await app.inject('/api/packages/_schema')).json()).map(({ path }) => path);
  for (const path of ["dependencies['socket.io']", "['$ref']", "['']", "['x.y'][]['$z']", "['a[gte]']", "it's"])
    t.ok(paths.includes(path), path);
  for (const path of paths.filter((one) => !one.includes('[]')))
    t.not((await ids(`${path}[exists]=true&sort=${path}&fields=${path}`)).length, 0, path);
});

t.test('hints write escaped names as clients do', { timeout: 60_000 }, async (t) => {
  const { app } = await withPackages(t);
  for (const [query, expected] of [
    ['dependencies.socket.io=4', "did you mean the field 'dependencies['socket.io']'?"],
    ['Dependencies.Socket.io=4', "did you mean the field 'dependencies['socket.io']'?"],
    ['socket.io=4', "did you mean the field 'dependencies['socket.io']'?"],
    ["dependencies['socket.oi']=4", "did you mean the field 'dependencies['socket.io']'?"],
    ['x.y=1', "did you mean the field '['x.y']'?"],
    ["['x.y']=1", "'['x.y']' contains"],
    [
      "dependencies['socket.io']=x",
      "'dependencies['socket.io']' contains numbers and is compared with the string 'x'.",
    ],
    ['dependencies[\'socket.io\'][gte]="5"', "as a number it is written dependencies['socket.io'][gte]=5"],
    ['fields=x.y', "did you mean the field '['x.y']'?"],
    ['sort=x.y', "did you mean the field '['x.y']'?"],
  ] as const) {
    const response = await app.inject(`/api/packages?${encodeURI(query)}`);
    t.equal(response.statusCode, 200, query);
    const hint = decodeURI(String(response.headers['millrace-hint']));
    t.ok(hint.includes(expected), `${query}: ${hint}`);
  }
  for (const [query, hint] of [
    ['$ref=x', "A field with this name is written as ['$ref']."],
    ['fields=a.$ref', "Such a name is written as a['$ref']."],
    ['sort=$ref', "Such a name is written as ['$ref']."],
    ['a..b=1', "A name with a dot, one that starts with $ and an empty one are written as dependencies['socket.io']."],
    ["a['b=1", /./],
    ["a['b']c=1", /./],
    [`${"['x.y']".repeat(11)}=1`, /./],
    [`filter=${encodeURIComponent(JSON.stringify(nested(8)))}`, /10 steps/],
    [
      `filter=${encodeURIComponent(JSON.stringify({ "['x.y'].a": { $all: Array(1_000).fill(1) }, $or: [{ "['x.y']": 1 }] }))}`,
      /fewer/,
    ],
  ] as const) {
    const response = await app.inject(`/api/packages?${query}`);
    t.equal(response.statusCode, 400, `${query} ${response.body}`);
    t.match(response.json().hint, hint, query.slice(0, 80));
  }
  const body = [{ fields: ["dependencies['socket.io']"] }];
  const refused = await app.inject({ method: 'PUT', url: '/admin/collections/packages/indexes', payload: body });
  t.equal(refused.statusCode, 400);
  t.match(refused.json().detail, /cannot be indexed: .* a name that has a dot, begins with \$ or is empty/);
});

t.test('pages sorted by the deepest path work in both directions', { timeout: 60_000 }, async (t) => {
  const { app } = await buildTestApp(t);
  for (const name of ['a', 'x.y']) {
    const deep = (value: unknown) =>
      Array.from({ length: 10 }).reduce<unknown>(
        (inner, _, depth) => ({ [name]: depth % 2 === 0 ? inner : [inner] }),
        value,
      );
    const url = `/api/deep-${name.length}`;
    const documents = [3, 1, 2].map((n) => ({ ...(deep([n, n + 10]) as object), id: String(9 - n) }));
    t.equal((await app.inject({ method: 'POST', url, payload: documents })).statusCode, 201);
    const step = name === 'a' ? '.a' : "['x.y']";
    const page = `${url}?sort=${encodeURIComponent(step.repeat(10).replace(/^\./, ''))}&limit=1`;
    const first = await app.inject(page);
    const second = await app.inject(`${page}&cursor=${first.headers['millrace-next']}`);
    const [, prev = ''] = /<([^>]+)>; rel="prev"/.exec(String(second.headers['link'])) ?? [];
    const ids = [first, second, await app.inject(prev)].map((one) => one.json()[0]?.id);
    t.strictSame(ids, ['8', '7', '8'], name);
  }
});

function nested(times: number): object {
  return { "['x.y']": times === 0 ? 1 : { $elemMatch: nested(times - 1) } };
}
