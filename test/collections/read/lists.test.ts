/** Lists over HTTP: results compared with a plain JavaScript computation on the source data, and pages. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { runScenarios } from '../../helpers/scenario.ts';

interface Movie {
  Title: string | null;
  'IMDB Rating': number | null;
  'IMDB Votes': number | null;
  'Major Genre': string | null;
}

interface Country {
  cca3: string;
  borders: string[];
  currencies: Record<string, unknown>;
  name: { common: string };
  latlng: number[];
  landlocked: boolean;
}

const PACKAGES = new URL('../../../node_modules/', import.meta.url);
const MOVIES: Movie[] = JSON.parse(readFileSync(new URL('vega-datasets/data/movies.json', PACKAGES), 'utf8'));
const COUNTRIES: Country[] = JSON.parse(readFileSync(new URL('world-countries/countries.json', PACKAGES), 'utf8'));

t.test('lists', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MAX_BODY_BYTES: '4000000' });
  for (const [name, all] of [
    ['movies', MOVIES.map((movie, n) => ({ ...movie, n }))],
    ['countries', COUNTRIES],
  ] as const) {
    for (let at = 0; at < all.length; at += 500) {
      const response = await app.inject({ method: 'POST', url: `/api/${name}`, payload: all.slice(at, at + 500) });
      t.equal(response.statusCode, 201);
    }
  }
  const request = async (address: string) => {
    const response = await app.inject(`/api/${address}`);
    t.equal(response.statusCode, 200, `${address}: ${response.body.slice(0, 200)}`);
    return response;
  };

  await t.test('movies', async (t) => {
    const best = MOVIES.filter(({ 'IMDB Rating': rating }) => rating !== null && rating >= 8)
      .sort((a, b) => (b['IMDB Votes'] ?? 0) - (a['IMDB Votes'] ?? 0))
      .slice(0, 10);
    const found = (await request('movies?IMDB+Rating[gte]=8&sort=-IMDB+Votes&limit=10')).json();
    t.strictSame(
      found.map(({ Title }: Movie) => Title),
      best.map(({ Title }) => Title),
    );

    const drama = MOVIES.filter((movie) => movie['Major Genre'] === 'Drama' && (movie['IMDB Votes'] ?? 0) > 100_000);
    const query = { 'Major Genre': 'Drama', 'IMDB Votes': { $gt: 100_000 } };
    const dramas = (await request(`movies?filter=${encodeURIComponent(JSON.stringify(query))}&fields=Title`)).json();
    t.strictSame(dramas.map(({ Title }: Movie) => Title).sort(), drama.map(({ Title }) => Title).sort());
    t.strictSame(
      new Set(dramas.flatMap(Object.keys)),
      new Set(['id', 'Title']),
      'fields include the id and what was requested',
    );

    const untitled = MOVIES.filter(({ Title }) => Title === null).length;
    const counted = await request('movies?Title=null&count=exact&limit=0');
    t.match(counted.headers, { 'millrace-count': String(untitled), 'millrace-count-kind': 'exact' });
    t.equal(counted.body, '[]');
    t.match((await request('movies?count=estimated&limit=1')).headers, {
      'millrace-count': String(MOVIES.length),
      'millrace-count-kind': 'estimated',
    });
  });

  await t.test('lists of countries by border, currency, nested and array paths', async (t) => {
    const cases: readonly (readonly [string, (country: Country) => boolean])[] = [
      ['borders=DEU', ({ borders }) => borders.includes('DEU')],
      ['borders[all]=DEU,FRA', ({ borders }) => borders.includes('DEU') && borders.includes('FRA')],
      ['borders[size]=0&landlocked=false', ({ borders, landlocked }) => borders.length === 0 && !landlocked],
      ['currencies.EUR[exists]=true', ({ currencies }) => 'EUR' in currencies],
      ['name.common[like]=United*', ({ name }) => name.common.startsWith('United')],
      ['name.common[icontains]=GUINEA', ({ name }) => name.common.toLowerCase().includes('guinea')],
      ['latlng.0[lt]=-30', ({ latlng }) => (latlng[0] ?? 0) < -30],
      ['cca3[in]=DEU,FRA,ITA', ({ cca3 }) => ['DEU', 'FRA', 'ITA'].includes(cca3)],
    ];
    for (const [address, requested] of cases) {
      const found = (await request(`countries?${address}&fields=cca3`))
        .json()
        .map(({ cca3 }: Country) => cca3)
        .sort();
      t.strictSame(
        found,
        COUNTRIES.filter(requested)
          .map(({ cca3 }) => cca3)
          .sort(),
        address,
      );
    }
  });

  await t.test('pages contain every document once, forwards and backwards', async (t) => {
    const whole: string[] = (await request('movies?sort=Major+Genre,-IMDB+Rating&fields=n'))
      .json()
      .map(({ n }: { n: number }) => n);
    const start = '/api/movies?sort=Major+Genre,-IMDB+Rating&fields=n&limit=500';
    const there = await walk(start, 'next');
    t.strictSame(there.pages.flat(), whole);
    const back = await walk(there.last, 'prev');
    t.strictSame(back.pages.reverse().flat(), whole);
  });

  await t.test('a page of large documents ends at 16 MB, and continues from there, both ways', async (t) => {
    const filling = 'x'.repeat(1_000_000);
    const documents = Array.from({ length: 18 }, (_, n) => ({ filling, n, a: n % 7, l: n % 2 ? [n, 50 - n] : n }));
    documents.push({ filling: 'x'.repeat(15_500_000), n: 18, a: 7, l: 18 });
    await services.mongo.data.collection('heavy').insertMany(documents);
    for (const sort of ['id', '-a', 'l']) {
      const whole = (await request(`heavy?sort=${sort}&fields=n`)).json().map(({ n }: { n: number }) => n);
      const there = await walk(`/api/heavy?sort=${sort}&limit=18`, 'next');
      t.strictSame(there.pages.flat(), whole, sort);
      t.ok(there.pages.length > 1 && there.pages.every(({ length }) => length <= 16), 'in shorter pages');
      const back = await walk(there.last, 'prev');
      t.strictSame(back.pages.reverse().flat(), whole, `${sort}, backwards`);
    }
    const skipped = await walk('/api/heavy?limit=18&skip=3', 'next');
    t.strictSame(
      skipped.pages.flat(),
      documents.slice(3).map(({ n }) => n),
      'skipping',
    );
    t.equal((await request('heavy?limit=19&fields=n')).json().length, 19, 'the result counts');
  });

  /** Follows the links of one direction and collects the documents of the pages. */
  async function walk(start: string, rel: 'next' | 'prev'): Promise<{ pages: unknown[][]; last: string }> {
    const pages: unknown[][] = [];
    for (let at = start; ; ) {
      const response = await app.inject(at);
      pages.push(response.json().map(({ n }: { n: number }) => n));
      const links = String(response.headers['link']);
      const link: string | undefined = new RegExp(`<([^>]+)>; rel="${rel}"`).exec(links)?.[1];
      if (link === undefined) return { pages, last: at };
      at = link;
    }
  }

  await t.test('_query runs the same query, and continues by Millrace-Next', async (t) => {
    const send = (payload: object) => app.inject({ method: 'POST', url: '/api/countries/_query', payload });
    const query = { filter: { borders: { $all: ['DEU', 'FRA'] } }, sort: 'cca3', limit: 2, fields: 'cca3' };
    const first = await send(query);
    t.strictSame(
      first.json().map(({ cca3 }: Country) => cca3),
      ['BEL', 'CHE'],
    );
    t.notOk(first.headers['link']);
    const second = await send({ ...query, cursor: first.headers['millrace-next'] });
    t.strictSame(
      second.json().map(({ cca3 }: Country) => cca3),
      ['LUX'],
    );
    t.notOk(second.headers['millrace-next']);
  });

  await t.test('expansion includes referenced documents', async (t) => {
    await app.inject({ method: 'POST', url: '/api/teams', payload: { id: 'red', name: 'Red' } });
    const people = [
      { id: 'ada', team: 'red', friends: ['bob', 'nobody'] },
      { id: 'bob', team: 'blue', friends: [] },
    ];
    await app.inject({ method: 'POST', url: '/api/people', payload: people });
    const response = (await request('people?expand=team:teams,friends:people&fields=team')).json();
    t.match(response, [
      { id: 'ada', team: 'red', _expanded: { team: { id: 'red', name: 'Red', _meta: { revision: 1 } } } },
      { id: 'bob', team: 'blue', _expanded: { team: null } },
    ]);
    const one = (await request('people/ada?expand=friends:people')).json();
    t.match(one, { id: 'ada', _expanded: { friends: [{ id: 'bob' }, null] }, _meta: { revision: 1 } });

    const bob = { id: 'bob', team: 'blue' };
    for (const fields of ['team', '-friends', '-friends.x,-_meta', 'friends.x,id', '-id', 'team,-id']) {
      for (const page of ['', '&limit=5', '&limit=5&sort=-team']) {
        const found = (await request(`people?expand=friends:people&fields=${fields}${page}`)).json();
        const plain = (await request(`people?fields=${fields}${page}`)).json();
        t.match(found[0]._expanded, { friends: [bob, null] }, fields + page);
        for (const shown of found) delete shown._expanded;
        t.strictSame(found, plain, `${fields}${page} shows what it shows without expansion`);
      }
      const { _expanded: shown, ...rest } = (await request(`people/ada?expand=friends:people&fields=${fields}`)).json();
      t.match(shown, { friends: [bob, null] });
      t.strictSame(rest, (await request(`people/ada?fields=${fields}`)).json());
    }
    const payload = { expand: 'friends:people', fields: 'team' };
    const queried = await app.inject({ method: 'POST', url: '/api/people/_query', payload });
    t.match(queried.json()[0], { team: 'red', friends: undefined, _expanded: { friends: [bob, null] } });
  });

  await t.test('expansion reaches into arrays', async (t) => {
    const items = [{ who: 'ada', n: 1 }, { n: 2 }, { who: ['bob', 'nobody'] }, 'ada'];
    await app.inject({ method: 'POST', url: '/api/orders', payload: { id: 'o', items } });
    const [ada, bob] = [{ id: 'ada' }, { id: 'bob' }];
    for (const address of ['orders?', 'orders/o?', 'orders/o?fields=id&', 'orders?fields=items.n&limit=1&']) {
      const [first] = [(await request(`${address}expand=items.who:people,items.0.who:people`)).json()].flat();
      const { 'items.who': each, 'items.0.who': one } = first._expanded;
      t.match(each.slice(0, 3), [ada, null, [bob, null]], address);
      t.match(one, ada, address);
    }
  });

  await t.test('expansion of the id itself, as of related rows', async (t) => {
    await app.inject({ method: 'POST', url: '/api/profiles', payload: { id: 'ada', text: 'A.' } });
    for (const address of ['people?id=ada&', 'people/ada?', 'people/ada?fields=-id&', 'people?fields=team&limit=1&']) {
      const [first] = [(await request(`${address}expand=id:profiles`)).json()].flat();
      t.match(first._expanded, { id: { id: 'ada', text: 'A.' } }, address);
    }
    await services.mongo.data.collection<{ _id: object }>('pairs').insertOne({ _id: { of: 'ada', n: 1 } });
    const [pair] = (await request('pairs?fields=n&expand=id.of:profiles')).json();
    t.match(pair, { id: '{"of":"ada","n":1}', _expanded: { 'id.of': { id: 'ada' } } });
  });

  await t.test('expanded documents may have changed while the document has not', async (t) => {
    await app.inject({ method: 'POST', url: '/api/authors', payload: { id: 'lem', name: 'Lem' } });
    await app.inject({ method: 'POST', url: '/api/books', payload: { id: 'solaris', author: 'lem' } });
    const url = '/api/books/solaris?expand=author:authors';
    const { etag } = (await app.inject(url)).headers;
    t.equal(etag, (await request('books/solaris')).headers['etag'], 'the tag is that of the document');
    await app.inject({ method: 'PATCH', url: '/api/authors/lem', payload: { name: 'Stanisław Lem' } });
    const again = await app.inject({ url, headers: { 'if-none-match': String(etag) } });
    t.equal(again.statusCode, 200);
    t.match(again.json(), { _expanded: { author: { name: 'Stanisław Lem' } } });
    const alone = await app.inject({ url: '/api/books/solaris', headers: { 'if-none-match': String(etag) } });
    t.equal(alone.statusCode, 304);
  });

  await t.test('one document has selected fields and its tag', async (t) => {
    const whole = await request('people/ada');
    const part = await request('people/ada?fields=team,_meta.revision');
    t.equal(part.headers['etag'], whole.headers['etag'], 'the tag is that of the document');
    t.match(part.json(), { id: 'ada', team: 'red', friends: undefined, _meta: { revision: 1, createdAt: /Z$/ } });
    t.strictSame(Object.keys((await request('people/ada?fields=-_meta,-friends')).json()), ['id', 'team']);
  });

  await t.test('invalid list requests are rejected', (t) =>
    runScenarios(t, app, [
      {
        name: 'an operator that is not known',
        request: 'GET /api/movies?a[gtt]=1',
        status: 400,
        code: 'unknown-operator',
        expect: { hint: /gt/ },
      },
      {
        name: 'the same in JSON',
        request: `GET /api/movies?filter=${encodeURIComponent('{"a":{"$where":"1"}}')}`,
        status: 400,
        code: 'unknown-operator',
      },
      {
        name: 'a limit that is too high',
        request: 'GET /api/movies?limit=1001',
        status: 400,
        code: 'invalid-parameter',
      },
      {
        name: 'a cursor of another query',
        request: 'GET /api/movies?limit=2&cursor=abc',
        status: 400,
        code: 'cursor-mismatch',
      },
      {
        name: 'a parameter given twice',
        request: 'GET /api/movies?limit=1&limit=2',
        status: 400,
        code: 'invalid-parameter',
      },
      { name: 'filter=null', request: 'GET /api/movies?filter=null', status: 400, code: 'invalid-filter' },
      { name: 'sort on one document', request: 'GET /api/people/ada?sort=a', status: 400, code: 'unknown-parameter' },
      {
        name: 'expansion of a reserved name',
        request: 'GET /api/people?expand=team:_users',
        status: 400,
        code: 'invalid-collection-name',
      },
      {
        name: 'a collection that was never created',
        request: 'GET /api/ghosts?limit=1',
        status: 404,
        code: 'resource-not-available',
      },
      { name: 'and with limit 0', request: 'GET /api/ghosts?limit=0', status: 404, code: 'resource-not-available' },
      {
        name: 'a _query that is no object',
        request: 'POST /api/movies/_query',
        send: [1],
        status: 400,
        code: 'invalid-body-type',
      },
    ]),
  );
});
