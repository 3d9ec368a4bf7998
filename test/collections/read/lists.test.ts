/**
 * Lists in the query language over HTTP: answers compared with a plain JavaScript computation on the source data, pages
 * walked from end to end, and what is refused.
 */
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
  const { app, parts } = await buildTestApp(t, { MILLRACE_BODY_BYTES: '4000000' });
  for (const [name, all] of [
    ['movies', MOVIES.map((movie, n) => ({ ...movie, n }))],
    ['countries', COUNTRIES],
  ] as const) {
    for (let at = 0; at < all.length; at += 500) {
      const answer = await app.inject({ method: 'POST', url: `/api/${name}`, payload: all.slice(at, at + 500) });
      t.equal(answer.statusCode, 201);
    }
  }
  const ask = async (address: string) => {
    const answer = await app.inject(`/api/${address}`);
    t.equal(answer.statusCode, 200, `${address}: ${answer.body.slice(0, 200)}`);
    return answer;
  };

  await t.test('movies', async (t) => {
    const best = MOVIES.filter(({ 'IMDB Rating': rating }) => rating !== null && rating >= 8)
      .sort((a, b) => (b['IMDB Votes'] ?? 0) - (a['IMDB Votes'] ?? 0))
      .slice(0, 10);
    const found = (await ask('movies?IMDB+Rating[gte]=8&sort=-IMDB+Votes&limit=10')).json();
    t.strictSame(
      found.map(({ Title }: Movie) => Title),
      best.map(({ Title }) => Title),
    );

    const drama = MOVIES.filter((movie) => movie['Major Genre'] === 'Drama' && (movie['IMDB Votes'] ?? 0) > 100_000);
    const query = { 'Major Genre': 'Drama', 'IMDB Votes': { $gt: 100_000 } };
    const dramas = (await ask(`movies?filter=${encodeURIComponent(JSON.stringify(query))}&fields=Title`)).json();
    t.strictSame(dramas.map(({ Title }: Movie) => Title).sort(), drama.map(({ Title }) => Title).sort());
    t.strictSame(
      new Set(dramas.flatMap(Object.keys)),
      new Set(['id', 'Title']),
      'fields show the id and what was asked',
    );

    const untitled = MOVIES.filter(({ Title }) => Title === null).length;
    const counted = await ask('movies?Title=null&count=exact&limit=0');
    t.match(counted.headers, { 'millrace-count': String(untitled), 'millrace-count-kind': 'exact' });
    t.equal(counted.body, '[]');
    t.match((await ask('movies?count=estimated&limit=1')).headers, {
      'millrace-count': String(MOVIES.length),
      'millrace-count-kind': 'estimated',
    });
  });

  await t.test('countries by border, currency, nested and array paths', async (t) => {
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
    for (const [address, wanted] of cases) {
      const found = (await ask(`countries?${address}&fields=cca3`))
        .json()
        .map(({ cca3 }: Country) => cca3)
        .sort();
      t.strictSame(
        found,
        COUNTRIES.filter(wanted)
          .map(({ cca3 }) => cca3)
          .sort(),
        address,
      );
    }
  });

  await t.test('pages: every document once, there and back', async (t) => {
    const whole: string[] = (await ask('movies?sort=Major+Genre,-IMDB+Rating&fields=n'))
      .json()
      .map(({ n }: { n: number }) => n);
    const start = '/api/movies?sort=Major+Genre,-IMDB+Rating&fields=n&limit=500';
    const there = await walk(start, 'next');
    t.strictSame(there.pages.flat(), whole);
    const back = await walk(there.last, 'prev');
    t.strictSame(back.pages.reverse().flat(), whole);
  });

  await t.test('a page of large documents ends at 16 MB, and goes on from there, both ways', async (t) => {
    const filling = 'x'.repeat(1_000_000);
    const documents = Array.from({ length: 18 }, (_, n) => ({ filling, n, a: n % 7, l: n % 2 ? [n, 50 - n] : n }));
    documents.push({ filling: 'x'.repeat(15_500_000), n: 18, a: 7, l: 18 });
    await parts.mongo.data.collection('heavy').insertMany(documents);
    for (const sort of ['id', '-a', 'l']) {
      const whole = (await ask(`heavy?sort=${sort}&fields=n`)).json().map(({ n }: { n: number }) => n);
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
    t.equal((await ask('heavy?limit=19&fields=n')).json().length, 19, 'what is shown counts');
  });

  /** Follows the links of one kind and collects what the pages show. */
  async function walk(start: string, rel: 'next' | 'prev'): Promise<{ pages: unknown[][]; last: string }> {
    const pages: unknown[][] = [];
    for (let at = start; ; ) {
      const answer = await app.inject(at);
      pages.push(answer.json().map(({ n }: { n: number }) => n));
      const link: string | undefined = new RegExp(`<([^>]+)>; rel="${rel}"`).exec(String(answer.headers['link']))?.[1];
      if (link === undefined) return { pages, last: at };
      at = link;
    }
  }

  await t.test('_query asks the same, and goes on by Millrace-Next', async (t) => {
    const ask = (payload: object) => app.inject({ method: 'POST', url: '/api/countries/_query', payload });
    const query = { filter: { borders: { $all: ['DEU', 'FRA'] } }, sort: 'cca3', limit: 2, fields: 'cca3' };
    const first = await ask(query);
    t.strictSame(
      first.json().map(({ cca3 }: Country) => cca3),
      ['BEL', 'CHE'],
    );
    t.notOk(first.headers['link']);
    const second = await ask({ ...query, cursor: first.headers['millrace-next'] });
    t.strictSame(
      second.json().map(({ cca3 }: Country) => cca3),
      ['LUX'],
    );
    t.notOk(second.headers['millrace-next']);
  });

  await t.test('expansion', async (t) => {
    await app.inject({ method: 'POST', url: '/api/teams', payload: { id: 'red', name: 'Red' } });
    const people = [
      { id: 'ada', team: 'red', friends: ['bob', 'nobody'] },
      { id: 'bob', team: 'blue', friends: [] },
    ];
    await app.inject({ method: 'POST', url: '/api/people', payload: people });
    const answer = (await ask('people?expand=team:teams,friends:people&fields=team')).json();
    t.match(answer, [
      { id: 'ada', team: 'red', _expanded: { team: { id: 'red', name: 'Red', _meta: { revision: 1 } } } },
      { id: 'bob', team: 'blue', _expanded: { team: null } },
    ]);
    const one = (await ask('people/ada?expand=friends:people')).json();
    t.match(one, { id: 'ada', _expanded: { friends: [{ id: 'bob' }, null] }, _meta: { revision: 1 } });

    const bob = { id: 'bob', team: 'blue' };
    for (const fields of ['team', '-friends', '-friends.x,-_meta', 'friends.x,id', '-id', 'team,-id']) {
      for (const page of ['', '&limit=5', '&limit=5&sort=-team']) {
        const found = (await ask(`people?expand=friends:people&fields=${fields}${page}`)).json();
        const plain = (await ask(`people?fields=${fields}${page}`)).json();
        t.match(found[0]._expanded, { friends: [bob, null] }, fields + page);
        for (const shown of found) delete shown._expanded;
        t.strictSame(found, plain, `${fields}${page} shows what it shows without expansion`);
      }
      const { _expanded: shown, ...rest } = (await ask(`people/ada?expand=friends:people&fields=${fields}`)).json();
      t.match(shown, { friends: [bob, null] });
      t.strictSame(rest, (await ask(`people/ada?fields=${fields}`)).json());
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
      const [first] = [(await ask(`${address}expand=items.who:people,items.0.who:people`)).json()].flat();
      const { 'items.who': each, 'items.0.who': one } = first._expanded;
      t.match(each.slice(0, 3), [ada, null, [bob, null]], address);
      t.match(one, ada, address);
    }
  });

  await t.test('expansion of the id itself, as of rows beside rows', async (t) => {
    await app.inject({ method: 'POST', url: '/api/profiles', payload: { id: 'ada', text: 'A.' } });
    for (const address of ['people?id=ada&', 'people/ada?', 'people/ada?fields=-id&', 'people?fields=team&limit=1&']) {
      const [first] = [(await ask(`${address}expand=id:profiles`)).json()].flat();
      t.match(first._expanded, { id: { id: 'ada', text: 'A.' } }, address);
    }
    await parts.mongo.data.collection<{ _id: object }>('pairs').insertOne({ _id: { of: 'ada', n: 1 } });
    const [pair] = (await ask('pairs?fields=n&expand=id.of:profiles')).json();
    t.match(pair, { id: '{"of":"ada","n":1}', _expanded: { 'id.of': { id: 'ada' } } });
  });

  await t.test('what is shown along may have changed while the document has not', async (t) => {
    await app.inject({ method: 'POST', url: '/api/authors', payload: { id: 'lem', name: 'Lem' } });
    await app.inject({ method: 'POST', url: '/api/books', payload: { id: 'solaris', author: 'lem' } });
    const url = '/api/books/solaris?expand=author:authors';
    const { etag } = (await app.inject(url)).headers;
    t.equal(etag, (await ask('books/solaris')).headers['etag'], 'the tag is that of the document');
    await app.inject({ method: 'PATCH', url: '/api/authors/lem', payload: { name: 'Stanisław Lem' } });
    const again = await app.inject({ url, headers: { 'if-none-match': String(etag) } });
    t.equal(again.statusCode, 200);
    t.match(again.json(), { _expanded: { author: { name: 'Stanisław Lem' } } });
    const alone = await app.inject({ url: '/api/books/solaris', headers: { 'if-none-match': String(etag) } });
    t.equal(alone.statusCode, 304);
  });

  await t.test('one document: fields and its tag', async (t) => {
    const whole = await ask('people/ada');
    const part = await ask('people/ada?fields=team,_meta.revision');
    t.equal(part.headers['etag'], whole.headers['etag'], 'the tag is that of the document');
    t.match(part.json(), { id: 'ada', team: 'red', friends: undefined, _meta: { revision: 1, createdAt: /Z$/ } });
    t.strictSame(Object.keys((await ask('people/ada?fields=-_meta,-friends')).json()), ['id', 'team']);
  });

  await t.test('what is refused', (t) =>
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
        code: 'invalid-name',
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
        code: 'body-type',
      },
    ]),
  );
});
