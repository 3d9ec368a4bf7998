/**
 * `Millrace-Hint` of a list that is empty because of a value: one of another type than the field has, an operator in
 * the notation of another backend, or a text that URL decoding has changed.
 */
import { ObjectId } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { withBooks } from '../../helpers/books.ts';

t.test(
  'a condition whose value is of a kind that its field never has gets the other notation',
  { timeout: 60_000 },
  async (t) => {
    const { app, services } = await buildTestApp(t);
    const at = new Date('2026-01-31T12:00:00Z');
    await services.mongo.data.collection<{ _id: string }>('shops').insertMany([
      {
        _id: 'a',
        zip: '60601',
        n: 5,
        open: true,
        at,
        ref: new ObjectId('65f0c0ffee65f0c0ffee65f0'),
        owner: { name: 'Ann' },
      },
      { _id: 'b', zip: '80331', n: 7, open: false, at, tags: ['a', 'b'], rows: [{ n: 1 }], none: null },
    ] as never);
    for (const [query, reported] of [
      [
        'zip[gte]=60000',
        `'zip' contains strings and is compared with the number 60000; as a string it is written zip[gte]="60000", or {"$gte":"60000"} in a JSON filter.`,
      ],
      ['zip[lt]=90000&n=5', /'zip' contains strings .* zip\[lt\]="90000"/],
      ['filter={"zip":{"$gte":60000}}', /'zip' contains strings .* \{"\$gte":"60000"\}/],
      ['filter={"zip":60601}', /'zip' contains strings .* zip="60601"/],
      ['filter={"zip":{"$in":[60601,1]}}', /'zip' contains strings/],
      ['n[gte]=x', "'n' contains numbers and is compared with the string 'x'."],
      ['n[gte]="5"', /'n' contains numbers .* string '5'; as a number it is written n\[gte\]=5, or \{"\$gte":5\}/],
      ['filter={"n":{"$gt":"5"}}', /as a number it is written n\[gt\]=5/],
      ['filter={"open":"true"}', /^'open' contains booleans and is compared with the string 'true'/],
      ['open[gt]=0', /^'open' contains booleans and is compared with the number 0/],
      [
        'filter={"at":{"$gte":"2026-01-01T00:00:00Z"}}',
        /'at' contains dates .*at\[gte\]=2026-01-01T00:00:00Z, or \{"\$gte":\{"\$date"/,
      ],
      ['ref=65f0c0ffee65f0c0ffee65f0', /'ref' contains ObjectIds .*\{"\$oid":"65f0c0ffee65f0c0ffee65f0"\}/],
      ['owner=Ann', "'owner' contains objects; write their fields as 'owner.name'."],
      ['n[contains]=5', "'n' contains numbers; 'contains' matches strings only."],
      ['zip[size]=5', "'zip' contains strings; 'size' counts the elements of arrays."],
      ['zip[gte]=90000&tags[size]=7', /^'zip' contains strings/],
      ['tags[gte]=5', /^'tags' contains arrays and strings and is compared with the number 5/],
      ['rows.n[gte]=x', /^'rows.n' contains numbers/],
      ['zip[gte]="90000"', null],
      ['n[gte]=8', null],
      ['none[gte]=8', null],
      ['tags=c', null],
      ['at[gte]=2027-01-01', null],
      ['zip[exists]=false', null],
      ['filter={"$or":[{"zip":60601},{"n":9}]}', null],
      ['filter={"$or":[{"zip":60601},{"n":"9"}]}', /'zip' contains strings/],
    ] as const) {
      const response = await app.inject(`/api/shops?${query}`);
      t.strictSame(response.json(), [], query);
      const hint = response.headers['millrace-hint'];
      if (reported === null) t.equal(hint, undefined, query);
      else if (typeof reported === 'string') t.equal(hint, reported);
      else t.match(hint, reported);
    }
  },
);

t.test(
  'a condition in the notation of another backend gets the notation of this one',
  { timeout: 60_000 },
  async (t) => {
    const { app, hint } = await withBooks(t);
    for (const [query, reported] of [
      ['title=eq.Dune', "'title' is compared with the string 'eq.Dune'; an operator is written title=Dune."],
      ['id=eq.5', "'id' is compared with the string 'eq.5'; an operator is written id=5."],
      ['title=ilike.*un*', /written title\[ilike\]=\*un\*/],
      ['title=not.eq.Dune', /written title\[ne\]=Dune/],
      ['title=in.(Dune,Emma)', /written title\[in\]=Dune,Emma/],
      ['title=imatch.^du', /written title\[regex\]=\(\?i\)\^du/],
      ['title=not.like.D*', /filter=\{"title":\{"\$not":\{"\$like":"D\*"\}\}\}/],
      ['title=is.null', /written title=null/],
      ['year=gte.1900', /written year\[gte\]=1900/],
      ['year=gte:1900', /written year\[gte\]=1900/],
      ['year=>1900', /written year\[gt\]=1900/],
      ['year=>=1900', /written year\[gte\]=1900/],
      ['year[gte]=gte.1900', /written year\[gte\]=1900/],
      ['year>=1900', /An operator is written year\[gte\]=value/],
      ['year>1900', /An operator is written year\[gt\]=1900/],
      ['year!=1900', /An operator is written year\[ne\]=value/],
      ['year__gte=1900', /An operator is written year\[gte\]=value/],
      ['year_gte=1900', /An operator is written year\[gte\]=value/],
      ['year:gte=1900', /An operator is written year\[gte\]=value/],
      ['Title__icontains=un', /An operator is written title\[icontains\]=value/],
      ['author__name=Herbert', /^No document has the field 'author__name'; did you mean the field 'author.name'/],
      ['title=*un*', /to match a part of a string, write title\[like\]=\*un\*/],
      ['title=%25un%25', /to match a part of a string, write title\[like\]=\*un\*/],
      ['title[like]=%25un%25', /In 'like', \* matches any characters: title\[like\]=\*un\*/],
      ['title[ilike]=un', /without \* .* title\[ilike\]=\*un\*/],
      ['title[contains]=*un*', /matches '\*un\*' literally; write title\[contains\]=un/],
      ['range=[0,9]', /^No document has the field 'range'\. Pages are limit=20/],
      ['title=in.progress', null],
      ['title=is:open', null],
      ['title=a.b', null],
      ['title[like]=x*', null],
    ] as const) {
      const response = await hint(query);
      t.strictSame(response.shown, [], query);
      if (reported === null) t.equal(response.reported, null, query);
      else if (typeof reported === 'string') t.equal(response.reported, reported);
      else t.match(response.reported, reported, query);
    }
    for (const [query, expected] of [
      ['sort=["title","ASC"]', 'Write it as sort=title; - means descending.'],
      ['sort=["title","DESC"]', 'Write it as sort=-title; - means descending.'],
      ['sort={"year":-1,"title":1}', 'Write it as sort=-year,title; - means descending.'],
      ['sort=[["year","desc"]]', 'Write it as sort=-year; - means descending.'],
      ['sort=[{"year":"desc"}]', 'Write it as sort=-year; - means descending.'],
      ['fields=["title","year"]', /Write fields=title,author.name/],
    ] as const) {
      const refused = await app.inject(`/api/books?${query}`);
      t.equal(refused.statusCode, 400, query);
      t.equal(refused.json().code, 'invalid-parameter');
      t.match(refused.json().hint, expected);
    }
  },
);

t.test('a plus that became a space gets a hint, and so does an invalid time', { timeout: 60_000 }, async (t) => {
  const { app, hint } = await withBooks(t);
  const people = [
    { id: '1', mail: 'ann+news@example.org', phone: '+4930123', name: 'Ann + Bob', at: '2026-01-31T10:00:00Z' },
    { id: '2', mail: 'a+b c+d e+f@example.org', phone: '+49 30 124', name: 'C++', at: '2026-02-01T10:00:00Z' },
  ];
  await app.inject({ method: 'POST', url: '/api/people', payload: people });
  const reported = async (query: string) => {
    const response = await app.inject(`/api/people?${query}`);
    t.equal(response.statusCode, 200, query);
    return { hint: response.headers['millrace-hint'], found: response.json().length };
  };
  for (const query of [
    'mail=ann+news@example.org',
    'mail[contains]=ann+news',
    'mail[in]=x,ann+news@example.org',
    'phone=+4930123',
    'phone[lt]=+5&phone[gte]=%2B4',
    'mail[all]=ann+news@example.org',
    'phone=+49%2030%20124',
    'name=C++',
    'name[like]=Ann+++Bob',
    'mail=a+b%20c+d%20e+f@example.org',
    'filter={"mail":"ann+news@example.org"}',
    'filter={"$or":[{"mail":"ann+news@example.org"},{"mail":"x"}]}',
  ]) {
    const { hint, found } = await reported(query);
    t.equal(found, 0, query);
    t.match(hint, /in a URL a \+ is written %2B/, query);
  }
  for (const query of [
    'mail=bob+news@example.org',
    'mail=x%20y',
    'mail=ann%2Bnews@example.org',
    'name=Ann%20%2B%20Bob',
  ]) {
    t.equal((await reported(query)).hint, undefined, query);
  }
  for (const query of [
    'at[gte]=2026-01-31T12:00:00+02:00',
    'at[gte]=2036-01-31T12:00:00+02:00',
    'at=2026-01-31T12:00+0200',
  ]) {
    t.match((await reported(query)).hint, /'at' is compared with '.*', where a \+ .* written 20.*%2B02:?00/, query);
  }
  t.match(
    (await reported('at[gte]=2026-02-30T12:00:00Z')).hint,
    /'2026-02-30T12:00:00Z', which is not a time in ISO 8601/,
  );
  const refused = await app.inject('/api/people?_meta.createdAt[gte]=2026-01-31T12:00:00+02:00');
  t.equal(refused.statusCode, 400);
  t.match(refused.json().hint, /%2B/);
  t.equal((await hint('title=Nowhere+else')).reported, null);
});

t.test('times with another offset than the texts of the documents get a hint', { timeout: 60_000 }, async (t) => {
  const { app } = await buildTestApp(t);
  const events = [
    {
      id: 'a',
      at: '2026-01-31T10:00:00Z',
      log: [{ at: '2026-01-31T10:00:00.000Z' }],
      local: '2026-01-31T12:00:00+02:00',
    },
    { id: 'b', at: '2026-02-01T10:00:00Z', log: [], local: '2026-02-01T12:00+0200' },
  ];
  await app.inject({ method: 'POST', url: '/api/visits', payload: events });
  const hint = async (query: string) => {
    const response = await app.inject(`/api/visits?${query}`);
    t.equal(response.statusCode, 200, query);
    return response.headers['millrace-hint'];
  };
  for (const [query, written] of [
    ['at[gte]=2026-01-31T12:00:00%2B02:00', '2026-01-31T10:00:00Z'],
    ['at[gt]=2026-02-01T11:00:00%2B02:00', '2026-02-01T09:00:00Z'],
    ['at[lt]=2026-02-01T23:30:00-05:30', '2026-02-02T05:00:00Z'],
    ['at=2026-01-31T12:00:00%2B02:00', '2026-01-31T10:00:00Z'],
    ['at[in]=2026-01-31T12:00:00%2B0200', '2026-01-31T10:00:00Z'],
    ['log.at[gte]=2026-01-31T12:00:00%2B02:00', '2026-01-31T10:00:00.000Z'],
    ['local[gte]=2026-01-31T10:00:00Z', '2026-01-31T12:00:00%2B02:00'],
    ['filter={"at":{"$gte":"2026-01-31T12:00:00%2B02:00"}}', '2026-01-31T10:00:00Z'],
    ['filter={"log":{"$elemMatch":{"at":"2026-01-31T11:00:00%2B01:00"}}}', '2026-01-31T10:00:00.000Z'],
    ['filter={"at":{"$not":{"$lt":"2026-02-03T12:00:00%2B02:00"}}}', '2026-02-03T10:00:00Z'],
  ] as const) {
    t.match(await hint(query), /contains times as strings with another offset, such as '2026/, query);
    t.ok(String(await hint(query)).includes(written), `${query}: ${written}`);
  }
  for (const query of [
    'at[gte]=2026-01-31T10:00:00Z',
    'at[gte]=2036-01-31T10:00:00%2B00:00',
    'at[gte]=2026-01-31',
    'id=a',
    '_meta.createdAt[gte]=2026-01-31T12:00:00%2B02:00',
  ]) {
    t.equal(await hint(query), undefined, query);
  }
});
