/** The cost of a filter, and that too expensive ones are rejected by code on every route, live ones earlier. */
import t from 'tap';
import { filterCost, requireAffordableFilter } from '../../../src/query/evaluate/filter-cost.ts';
import { QUERY_LIMITS } from '../../../src/query/limits.ts';
import { parseFilterJson } from '../../../src/query/parse/parse-filter-json.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';

const texts = (count: number, length = 4) => ({
  $or: Array.from({ length: count }, (_, n) => ({ text: { $icontains: `${n}`.padEnd(length, 'x') } })),
});
const costOfJson = (filter: object) => Math.round(filterCost(parseFilterJson(filter)));

t.test('each condition counts, texts by their length, patterns by what they match', async (t) => {
  t.equal(costOfJson({}), 0);
  t.equal(costOfJson({ a: 1, b: { $gt: 1, $lt: 5 } }), 3);
  t.equal(costOfJson({ a: { $contains: 'x'.repeat(100) } }), 25);
  t.equal(costOfJson({ a: { $startsWith: '$user.claims.team' } }), 164, 'a variable may be as long as a text can be');
  t.equal(costOfJson({ a: { $regex: '[0-9]{20}' } }), 510);
  t.equal(costOfJson({ a: { $not: { $contains: 'x' } }, $nor: [{ b: { $elemMatch: { c: { $regex: 'ab' } } } }] }), 70);
  t.equal(costOfJson({ tags: { $all: ['a', 'b', 'c'] } }), 3);
  t.throws(() => requireAffordableFilter(parseFilterJson(texts(300)), QUERY_LIMITS.liveCost), {
    code: 'filter-too-expensive',
    status: 400,
  });
  t.ok(requireAffordableFilter(parseFilterJson(texts(300)), QUERY_LIMITS.cost));
});

t.test('too expensive filters are rejected everywhere', async (t) => {
  const { app } = await buildTestApp(t);
  await app.inject({ method: 'POST', url: '/api/notes', payload: { text: 'a' } });
  const refused = (response: { json(): unknown }, what: string) =>
    t.match(response.json(), { status: 400, code: 'filter-too-expensive' }, what);
  const query = (filter: object) => app.inject({ method: 'POST', url: '/api/notes/_query', payload: { filter } });
  refused(await query(texts(300, 1_000)), 'a list');
  t.equal((await query(texts(300))).statusCode, 200, 'a list may cost more');
  const filter = encodeURIComponent(JSON.stringify(texts(200)));
  refused(await app.inject(`/api/notes/_changes?filter=${filter}`), 'changes');
  const policy = { name: 'p', resources: ['notes'], actions: ['read'], effect: 'allow', filter: texts(200) };
  const saved = await app.inject({ method: 'POST', url: '/admin/policies', payload: policy });
  t.match(saved.json(), { status: 400, errors: [{ pointer: /^\/filter/, code: 'filter-too-expensive' }] });

  const socket = await openSocket(t, await app.listen({ host: '127.0.0.1', port: 0 }));
  await socket.frame({ type: 'welcome' });
  socket.send({ type: 'subscribe', id: 'd', collection: 'notes', query: { filter: texts(300) } });
  socket.send({ type: 'subscribe', id: 'e', events: ['notes.*'], filter: texts(300) });
  socket.send({ type: 'subscribe', id: 'f', collection: 'notes', query: { filter: texts(100) } });
  t.match(await socket.frame({ type: 'unsubscribed', id: 'd' }), { problem: { code: 'filter-too-expensive' } });
  t.match(await socket.frame({ type: 'unsubscribed', id: 'e' }), { problem: { code: 'filter-too-expensive' } });
  t.ok(await socket.frame({ type: 'live', id: 'f' }));
  for (const id of ['g', 'h', 'i', 'j']) {
    socket.send({ type: 'subscribe', id, collection: 'notes', query: { filter: texts(90) } });
  }
  const refusal = await socket.frame({ type: 'unsubscribed', id: 'j' });
  t.match(refusal, { problem: { code: 'filter-too-expensive', detail: /together/ } }, 'all of a connection together');
  socket.send({ type: 'unsubscribe', id: 'g' });
  socket.send({ type: 'subscribe', id: 'k', collection: 'notes', query: { filter: texts(90) } });
  t.ok(await socket.frame({ type: 'live', id: 'k' }));
});
