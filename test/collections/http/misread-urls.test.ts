/**
 * URLs written for another backend: parameter names that are hardly field names are rejected with the equivalent here.
 * Names that may be fields stay conditions.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';

/** The hint for each of the names, which come from the documentation of the backends. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  _page: /limit=20.*cursor=/,
  _limit: /limit=20/,
  _sort: /sort=-createdAt,name/,
  _order: /sort=-createdAt,name/,
  _start: /skip=40/,
  _end: /skip=40/,
  _expand: /expand=authorId:users/,
  _embed: /expand=authorId:users/,
  _per_page: /limit=20/,
  per_page: /limit=20/,
  perPage: /limit=20/,
  pageSize: /limit=20/,
  page_size: /limit=20/,
  order_by: /sort=-createdAt,name/,
  orderBy: /sort=-createdAt,name/,
  $filter: /filter=\{/,
  $top: /limit=20/,
  $skip: /skip=40/,
  $orderby: /sort=-createdAt,name/,
  $select: /fields=title,author/,
  $count: /count=exact/,
  skipTotal: /count=exact/,
  '$sort[createdAt]': /sort=-createdAt,name/,
};

t.test('a URL that was written for another backend', { timeout: 60_000 }, async (t) => {
  const { app } = await buildTestApp(t);
  const created = [
    { id: 'a', Title: 'B', page: 3, pageSize: 'A4', 'IMDB Rating': 9 },
    { id: 'b', Title: 'A', page: 4, pageSize: 'A5', 'IMDB Rating': 8 },
  ];
  t.equal((await app.inject({ method: 'POST', url: '/api/books', payload: created })).statusCode, 201);
  const ids = (body: readonly { readonly id: string }[]) => body.map(({ id }) => id);

  for (const [name, hint] of Object.entries(REFUSED)) {
    await t.test(`${name} is rejected with the equivalent here`, async (t) => {
      const response = await app.inject(`/api/books?${encodeURIComponent(name)}=5`);
      t.equal(response.statusCode, 400);
      t.match(response.json(), { code: 'unknown-parameter', hint });
    });
  }

  await t.test('a field with such a name is queried with an operator', async (t) => {
    const response = await app.inject('/api/books?pageSize[eq]=A4');
    t.strictSame(ids(response.json()), ['a']);
    t.match((await app.inject('/api/books?pageSize=A4')).json(), { hint: /pageSize\[eq\]=/ });
  });

  await t.test('a name that may be a field stays a condition', async (t) => {
    t.strictSame(ids((await app.inject('/api/books?page=4')).json()), ['b']);
    for (const name of ['offset', 'order', 'select', 'q', 'where', 'search', 'include']) {
      const response = await app.inject(`/api/books?${name}=5`);
      t.equal(response.statusCode, 200, name);
      t.strictSame(response.json(), [], name);
    }
  });

  await t.test('in the body of _query the name is not a parameter', async (t) => {
    for (const [name, hint] of Object.entries({ page: /cursor=/, where: /filter=/, _limit: /limit=20/ })) {
      const response = await app.inject({ method: 'POST', url: '/api/books/_query', payload: { [name]: 1 } });
      t.equal(response.statusCode, 400, name);
      t.match(response.json(), { code: 'unknown-parameter', hint }, name);
    }
  });

  for (const [sort, here] of [
    ['Title:asc', 'sort=Title;'],
    ['Title:desc', 'sort=-Title;'],
    ['Title desc', 'sort=-Title;'],
    ['Title  ASC', 'sort=Title;'],
    ['id,-IMDB Rating desc', 'sort=-IMDB Rating;'],
  ] as const) {
    await t.test(`sort=${sort} is rejected`, async (t) => {
      const response = await app.inject(`/api/books?sort=${encodeURIComponent(sort)}`);
      t.equal(response.statusCode, 400);
      const { code, hint } = response.json();
      t.equal(code, 'invalid-parameter');
      t.ok(hint.includes(here), hint);
    });
  }

  await t.test('a space in a field name is not a direction', async (t) => {
    t.strictSame(ids((await app.inject('/api/books?sort=IMDB+Rating')).json()), ['b', 'a']);
  });
});
