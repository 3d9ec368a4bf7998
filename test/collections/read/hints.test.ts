/**
 * `Millrace-Hint`: an answer that is empty or not sorted because of a name that no document has says so, and what was
 * probably meant. It names nothing that the one who asks may not read, and costs the database nothing for other answers.
 */
import { ObjectId } from 'mongodb';
import pino from 'pino';
import t, { type Test } from 'tap';
import { buildApp } from '../../../src/app.ts';
import { consoleLog } from '../../../src/http/console-log.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { speakingAs, user } from '../../helpers/principals.ts';
import { until } from '../../helpers/until.ts';

const BOOKS = [
  { id: 'a', title: 'Dune', year: 1965, seq: 3, author: { name: 'Herbert' }, tags: [{ label: 'sf' }] },
  { id: 'b', title: 'Emma', year: 1815, seq: 1, author: { name: 'Austen' }, tags: [] },
  { id: 'c', title: 'Ubik', year: null, seq: 2, author: { name: 'Dick' }, tags: [{ label: 'sf' }] },
];

async function withBooks(t: Test) {
  const test = await buildTestApp(t);
  const { app } = test;
  t.equal((await app.inject({ method: 'POST', url: '/api/books', payload: BOOKS })).statusCode, 201);
  const hint = async (query: string, headers: Record<string, string> = {}) => {
    const answer = await app.inject({ url: `/api/books?${query}`, headers });
    t.equal(answer.statusCode, 200, query);
    const told = answer.headers['millrace-hint'];
    return { told: told === undefined ? null : String(told), shown: answer.json<{ id: string }[]>() };
  };
  return { ...test, hint };
}

t.test('an answer that a name has spoilt', { timeout: 60_000 }, async (t) => {
  const { app, hint } = await withBooks(t);

  for (const [query, told] of [
    ['titel=Dune', "No document has the member 'titel'; did you mean the member 'title'?"],
    ['Title=Dune', "No document has the member 'Title'; did you mean the member 'title'?"],
    ['titel[contains]=D', "No document has the member 'titel'; did you mean the member 'title'?"],
    ['year[gt]=1800&titel=x', "No document has the member 'titel'; did you mean the member 'title'?"],
    ['name=Herbert', "No document has the member 'name'; did you mean the member 'author.name'?"],
    ['autor.name=Dick', "No document has the member 'autor.name'; did you mean the member 'author.name'?"],
    ['tags.lable=sf', "No document has the member 'tags.lable'; did you mean the member 'tags.label'?"],
    ['limt=1', "No document has the member 'limt'; did you mean the parameter 'limit'?"],
    ['feilds=title', "No document has the member 'feilds'; did you mean the parameter 'fields'?"],
    ['order=title', /^No document has the member 'order'\. An order is sort=/],
    ['offset=20', /^No document has the member 'offset'\. .*skip=40/],
    ['page=2', /^No document has the member 'page'\. Pages are limit=20/],
    ['q=dune', /title\[icontains\]=word/],
    ['select=title', /fields=title,author/],
    ['include=author', /expand=authorId:users/],
    ['where=x', /field\[operator\]=value/],
    ['zzzzzzzzzz=1', "No document has the member 'zzzzzzzzzz'."],
    ['d%C3%BCne=1&limit=5', /^No document has the member 'd\\u00fcne'/],
    ['sort=scroe', /^No document has the member 'scroe'/],
    ['sort=-titel&limit=2', "No document has the member 'titel'; did you mean the member 'title'?"],
    ['sort=titel,seq&limit=2&fields=seq', "No document has the member 'titel'; did you mean the member 'title'?"],
    ['sort=seq,desc', /^No document has the member 'desc'\. An order is sort=/],
    ['filter={"seq":{"gte":0}}', /^'seq' is compared with an object that has the member 'gte'.*\{"\$gte":5\}/],
    ['filter={"$or":[{"seq":{"in":[1]}}]}&limit=3', /^'seq' is compared .* 'in'/],
  ] as const) {
    await t.test(query, async (t) => {
      const answer = await hint(query);
      if (!query.startsWith('sort=')) t.strictSame(answer.shown, []);
      if (typeof told === 'string') t.equal(answer.told, told);
      else t.match(answer.told, told);
    });
  }

  await t.test('an answer that is as it was meant has no hint', async (t) => {
    for (const query of [
      '',
      'title=Dune',
      'title=Nowhere',
      'tags.0.label=novel',
      'tags.label=novel&limit=5',
      'year[lt]=1000&sort=year',
      'sort=year&limit=1',
      'sort=-year,seq',
      'sort=title&fields=seq&limit=2',
      'deleted[exists]=false&title=Nowhere',
      'deleted=null&title=Nowhere',
      'filter={"$nor":[{"deleted":true}],"title":"Nowhere"}',
      'title=Nowhere&limit=0',
      'titel=x&limit=0',
      'titel=x&skip=1&limit=5',
      'id=nobody',
      '_meta.revision[gt]=9',
    ]) {
      t.equal((await hint(query)).told, null, query);
    }
  });

  await t.test('a list that lacks a member that was wanted says so', async (t) => {
    for (const [query, told] of [
      ['fields=Titel', "No document has the member 'Titel'; did you mean the member 'title'?"],
      ['fields=title,yaer&limit=1', "No document has the member 'yaer'; did you mean the member 'year'?"],
      ['fields=autor.name', "No document has the member 'autor.name'; did you mean the member 'author.name'?"],
      ['fields=createdAt', "No document has the member 'createdAt'; did you mean the member '_meta.createdAt'?"],
      ['fields=title&expand=autor:authors', "No document has the member 'autor'; did you mean the member 'author'?"],
      ['sort=createdAt', "No document has the member 'createdAt'; did you mean the member '_meta.createdAt'?"],
      [
        'sort=-updated_at&limit=2',
        "No document has the member 'updated_at'; did you mean the member '_meta.updatedAt'?",
      ],
      ['sort=title.desc', /^No document has the member 'title.desc'/],
      ['fields=title,author.name', null],
      ['fields=tags.label', null],
      ['fields=-titel', null],
    ] as const) {
      for (const again of [false, true]) {
        const answer = await hint(query);
        t.equal(answer.shown.length, query.includes('limit=') ? Number(query.at(-1)) : 3, query);
        if (told === null || typeof told === 'string') t.equal(answer.told, told, `${query} ${again}`);
        else t.match(answer.told, told);
      }
    }
  });

  await t.test('_query and HEAD say the same', async (t) => {
    const payload = { filter: { titel: 'Dune' } };
    const asked = await app.inject({ method: 'POST', url: '/api/books/_query', payload });
    t.match(asked.headers['millrace-hint'], /did you mean the member 'title'/);
    const head = await app.inject({ method: 'HEAD', url: '/api/books?titel=Dune' });
    t.equal(head.headers['millrace-hint'], asked.headers['millrace-hint']);
  });

  await t.test('a collection without documents has nothing to say', async (t) => {
    await app.inject({ method: 'DELETE', url: '/api/books?filter={}', headers: { prefer: 'max-affected=10' } });
    t.equal((await hint('titel=Dune')).told, null);
    t.notOk((await app.inject('/api/nothing?titel=Dune')).headers['millrace-hint'], 'nor one that does not exist');
  });
});

t.test(
  'a condition whose value is of a kind that its member never has gets the other spelling',
  { timeout: 60_000 },
  async (t) => {
    const { app, parts } = await buildTestApp(t);
    const at = new Date('2026-01-31T12:00:00Z');
    await parts.mongo.data.collection<{ _id: string }>('shops').insertMany([
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
    for (const [query, told] of [
      [
        'zip[gte]=60000',
        `'zip' holds texts and is compared with the number 60000; as a text it is written zip[gte]="60000", or {"$gte":"60000"} in a JSON filter.`,
      ],
      ['zip[lt]=90000&n=5', /'zip' holds texts .* zip\[lt\]="90000"/],
      ['filter={"zip":{"$gte":60000}}', /'zip' holds texts .* \{"\$gte":"60000"\}/],
      ['filter={"zip":60601}', /'zip' holds texts .* zip="60601"/],
      ['filter={"zip":{"$in":[60601,1]}}', /'zip' holds texts/],
      ['n[gte]=x', "'n' holds numbers and is compared with the text 'x'."],
      ['n[gte]="5"', /'n' holds numbers .* text '5'; as a number it is written n\[gte\]=5, or \{"\$gte":5\}/],
      ['filter={"n":{"$gt":"5"}}', /as a number it is written n\[gt\]=5/],
      ['filter={"open":"true"}', /^'open' holds booleans and is compared with the text 'true'/],
      ['open[gt]=0', /^'open' holds booleans and is compared with the number 0/],
      [
        'filter={"at":{"$gte":"2026-01-01T00:00:00Z"}}',
        /'at' holds dates .*at\[gte\]=2026-01-01T00:00:00Z, or \{"\$gte":\{"\$date"/,
      ],
      ['ref=65f0c0ffee65f0c0ffee65f0', /'ref' holds ObjectIds .*\{"\$oid":"65f0c0ffee65f0c0ffee65f0"\}/],
      ['owner=Ann', "'owner' holds objects; a member of them is named as 'owner.name'."],
      ['n[contains]=5', "'n' holds numbers; 'contains' looks for texts only."],
      ['zip[size]=5', "'zip' holds texts; 'size' counts the elements of lists."],
      ['zip[gte]=90000&tags[size]=7', /^'zip' holds texts/],
      ['tags[gte]=5', /^'tags' holds lists and texts and is compared with the number 5/],
      ['rows.n[gte]=x', /^'rows.n' holds numbers/],
      ['zip[gte]="90000"', null],
      ['n[gte]=8', null],
      ['none[gte]=8', null],
      ['tags=c', null],
      ['at[gte]=2027-01-01', null],
      ['zip[exists]=false', null],
      ['filter={"$or":[{"zip":60601},{"n":9}]}', null],
      ['filter={"$or":[{"zip":60601},{"n":"9"}]}', /'zip' holds texts/],
    ] as const) {
      const answer = await app.inject(`/api/shops?${query}`);
      t.strictSame(answer.json(), [], query);
      const hint = answer.headers['millrace-hint'];
      if (told === null) t.equal(hint, undefined, query);
      else if (typeof told === 'string') t.equal(hint, told);
      else t.match(hint, told);
    }
  },
);

t.test(
  'a condition in the spelling of another backend gets the spelling of this one',
  { timeout: 60_000 },
  async (t) => {
    const { app, hint } = await withBooks(t);
    for (const [query, told] of [
      ['title=eq.Dune', "'title' is compared with the text 'eq.Dune'; an operator is written title=Dune."],
      ['id=eq.5', "'id' is compared with the text 'eq.5'; an operator is written id=5."],
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
      ['author__name=Herbert', /^No document has the member 'author__name'; did you mean the member 'author.name'/],
      ['title=*un*', /looked for by title\[like\]=\*un\*/],
      ['title=%25un%25', /looked for by title\[like\]=\*un\*/],
      ['title[like]=%25un%25', /In 'like', \* stands for any text: title\[like\]=\*un\*/],
      ['title[ilike]=un', /without \* .* title\[ilike\]=\*un\*/],
      ['title[contains]=*un*', /looks for '\*un\*' as it is; write title\[contains\]=un/],
      ['range=[0,9]', /^No document has the member 'range'\. Pages are limit=20/],
      ['title=in.progress', null],
      ['title=is:open', null],
      ['title=a.b', null],
      ['title[like]=x*', null],
    ] as const) {
      const answer = await hint(query);
      t.strictSame(answer.shown, [], query);
      if (told === null) t.equal(answer.told, null, query);
      else if (typeof told === 'string') t.equal(answer.told, told);
      else t.match(answer.told, told, query);
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

t.test('a plus that became a blank is told, and so is a time that is none', { timeout: 60_000 }, async (t) => {
  const { app, hint } = await withBooks(t);
  const people = [
    { id: '1', mail: 'ann+news@example.org', phone: '+4930123', name: 'Ann + Bob', at: '2026-01-31T10:00:00Z' },
    { id: '2', mail: 'a+b c+d e+f@example.org', phone: '+49 30 124', name: 'C++', at: '2026-02-01T10:00:00Z' },
  ];
  await app.inject({ method: 'POST', url: '/api/people', payload: people });
  const told = async (query: string) => {
    const answer = await app.inject(`/api/people?${query}`);
    t.equal(answer.statusCode, 200, query);
    return { hint: answer.headers['millrace-hint'], found: answer.json().length };
  };
  for (const query of [
    'mail=ann+news@example.org',
    'mail[contains]=ann+news',
    'mail[in]=x,ann+news@example.org',
    'phone=+4930123',
    'phone=+49%2030%20124',
    'name=C++',
    'name[like]=Ann+++Bob',
    'mail=a+b%20c+d%20e+f@example.org',
    'filter={"mail":"ann+news@example.org"}',
    'filter={"$or":[{"mail":"ann+news@example.org"},{"mail":"x"}]}',
  ]) {
    const { hint, found } = await told(query);
    t.equal(found, 0, query);
    t.match(hint, /in an address a \+ is written %2B/, query);
  }
  for (const query of [
    'mail=bob+news@example.org',
    'mail=x%20y',
    'mail=ann%2Bnews@example.org',
    'name=Ann%20%2B%20Bob',
  ]) {
    t.equal((await told(query)).hint, undefined, query);
  }
  for (const query of [
    'at[gte]=2026-01-31T12:00:00+02:00',
    'at[gte]=2036-01-31T12:00:00+02:00',
    'at=2026-01-31T12:00+0200',
  ]) {
    t.match((await told(query)).hint, /'at' is compared with '.*', where a \+ .* written 20.*%2B02:?00/, query);
  }
  t.match((await told('at[gte]=2026-02-30T12:00:00Z')).hint, /'2026-02-30T12:00:00Z', which is not a time in ISO 8601/);
  const refused = await app.inject('/api/people?_meta.createdAt[gte]=2026-01-31T12:00:00+02:00');
  t.equal(refused.statusCode, 400);
  t.match(refused.json().hint, /%2B/);
  t.equal((await hint('title=Nowhere+else')).told, null);
});

t.test('a hint tells nothing that policies hide', { timeout: 60_000 }, async (t) => {
  const { parts, hint } = await withBooks(t);
  const as = speakingAs(parts);
  const [member, guest] = [as(user('m')), as(user('g'))];
  const hidden = { _id: 'h', secretive: 1, title: 'Hidden' };
  await parts.mongo.data.collection<typeof hidden>('books').insertOne(hidden);
  withPolicies(parts, [
    {
      collections: ['books'],
      actions: ['read'],
      principals: { users: ['m'] },
      where: { title: { $ne: 'Hidden' } },
      fields: { read: ['*', '-year', '-author.name'] },
    },
    { collections: ['books'], actions: ['read'], principals: { users: ['g'] }, where: { title: 'Nowhere' } },
  ]);
  t.equal((await hint('titel=x', member)).told, "No document has the member 'titel'; did you mean the member 'title'?");
  t.equal((await hint('yaer=1', member)).told, "No document has the member 'yaer'.", 'a hidden member is not named');
  t.notMatch((await hint('autor.name=x', member)).told, /author\.name/);
  t.equal(
    (await hint('secretive=2', member)).told,
    "No document has the member 'secretive'.",
    'what a document out of reach has is as if it were not there',
  );
  t.equal((await hint('sort=secretive', member)).told, "No document has the member 'secretive'.");
  t.equal((await hint('titel=x', guest)).told, null, 'to one that reaches nothing, nothing is said');
});

t.test('a rare member is said to be lacking in the newest documents only', { timeout: 60_000 }, async (t) => {
  const { app, hint } = await withBooks(t);
  const payload = Array.from({ length: 60 }, (_, n) => ({ id: `x${100 + n}`, n }));
  await app.inject({ method: 'POST', url: '/api/books', payload });
  t.match((await hint('titel=x')).told, /^None of the newest 50 documents has the member 'titel'/);
});

t.test('what it costs', { timeout: 60_000 }, async (t) => {
  const { parts, hint } = await withBooks(t);
  const { data } = parts.mongo;
  const finds = async (ask: () => Promise<unknown>) => {
    await data.command({ profile: 2 });
    await ask();
    await data.command({ profile: 0 });
    const count = await data.collection('system.profile').countDocuments({ 'command.find': 'books' });
    await data.collection('system.profile').drop();
    return count;
  };
  t.equal(await finds(() => hint('title=Dune&sort=seq&limit=5')), 1, 'an answer with documents costs one read');
  t.equal(await finds(() => hint('title=Nowhere')), 2, 'an empty one a second read');
  t.equal(await finds(() => hint('title=Elsewhere')), 1, 'but only for the first one about that member');
});

t.test('the log of development mode prints it', { timeout: 60_000 }, async (t) => {
  const { parts } = await withBooks(t);
  let text = '';
  const out = {
    write: (line: string) => {
      text += line;
      return true;
    },
  };
  const app = await buildApp(parts, pino({}, consoleLog(out)));
  t.teardown(() => app.close());
  await app.inject('/api/books?titel=Dune');
  await until(() => text.includes('titel=Dune'), 'the line is written');
  t.match(text, /^200 {2}GET {4}\/api\/books\?titel=Dune .*\n {5}No document has the member 'titel'; did you mean/);
});

t.test('pages of other origins can read it, and the contract names it', { timeout: 60_000 }, async (t) => {
  const { app } = await withBooks(t);
  const answer = await app.inject({ url: '/api/books?titel=1', headers: { origin: 'http://localhost:5173' } });
  t.match(answer.headers['access-control-expose-headers'], /Millrace-Hint/);
  const contract = (await app.inject('/openapi.json')).json();
  for (const place of [contract.paths['/api/{collection}'].get, contract.paths['/api/{collection}/_query'].post]) {
    t.ok(JSON.stringify(place.responses['200']).includes('Millrace-Hint'));
  }
});
