/**
 * `Millrace-Hint`: a result that is empty or unsorted because of a name that no document has states that, and what was
 * probably intended. It names nothing that the client may not read, and costs the database nothing for other results.
 */
import pino from 'pino';
import t from 'tap';
import { buildApp } from '../../../src/app.ts';
import { consoleLogStream } from '../../../src/http/console-log.ts';
import { withBooks } from '../../helpers/books.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { speakingAs, user } from '../../helpers/principals.ts';
import { until } from '../../helpers/until.ts';

t.test('a result spoilt by an unknown name has a hint', { timeout: 60_000 }, async (t) => {
  const { app, hint } = await withBooks(t);

  for (const [query, reported] of [
    ['titel=Dune', "No document has the field 'titel'; did you mean the field 'title'?"],
    ['Title=Dune', "No document has the field 'Title'; did you mean the field 'title'?"],
    ['titel[contains]=D', "No document has the field 'titel'; did you mean the field 'title'?"],
    ['year[gt]=1800&titel=x', "No document has the field 'titel'; did you mean the field 'title'?"],
    ['name=Herbert', "No document has the field 'name'; did you mean the field 'author.name'?"],
    ['autor.name=Dick', "No document has the field 'autor.name'; did you mean the field 'author.name'?"],
    ['tags.lable=sf', "No document has the field 'tags.lable'; did you mean the field 'tags.label'?"],
    ['limt=1', "No document has the field 'limt'; did you mean the parameter 'limit'?"],
    ['feilds=title', "No document has the field 'feilds'; did you mean the parameter 'fields'?"],
    ['order=title', /^No document has the field 'order'\. Sorting is sort=/],
    ['offset=20', /^No document has the field 'offset'\. .*skip=40/],
    ['page=2', /^No document has the field 'page'\. Pages are limit=20/],
    ['q=dune', /title\[icontains\]=word/],
    ['select=title', /fields=title,author/],
    ['include=author', /expand=authorId:users/],
    ['where=x', /field\[operator\]=value/],
    ['zzzzzzzzzz=1', "No document has the field 'zzzzzzzzzz'."],
    ['d%C3%BCne=1&limit=5', /^No document has the field 'd\\u00fcne'/],
    ['sort=scroe', /^No document has the field 'scroe'/],
    ['sort=-titel&limit=2', "No document has the field 'titel'; did you mean the field 'title'?"],
    ['sort=titel,seq&limit=2&fields=seq', "No document has the field 'titel'; did you mean the field 'title'?"],
    ['sort=seq,desc', /^No document has the field 'desc'\. Sorting is sort=/],
    ['filter={"seq":{"gte":0}}', /^'seq' is compared with an object that has the field 'gte'.*\{"\$gte":5\}/],
    ['filter={"$or":[{"seq":{"in":[1]}}]}&limit=3', /^'seq' is compared .* 'in'/],
  ] as const) {
    await t.test(query, async (t) => {
      const response = await hint(query);
      if (!query.startsWith('sort=')) t.strictSame(response.shown, []);
      if (typeof reported === 'string') t.equal(response.reported, reported);
      else t.match(response.reported, reported);
    });
  }

  await t.test('an intended result has no hint', async (t) => {
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
      t.equal((await hint(query)).reported, null, query);
    }
  });

  await t.test('a list that lacks a requested field has a hint', async (t) => {
    for (const [query, reported] of [
      ['fields=Titel', "No document has the field 'Titel'; did you mean the field 'title'?"],
      ['fields=title,yaer&limit=1', "No document has the field 'yaer'; did you mean the field 'year'?"],
      ['fields=autor.name', "No document has the field 'autor.name'; did you mean the field 'author.name'?"],
      ['fields=createdAt', "No document has the field 'createdAt'; did you mean the field '_meta.createdAt'?"],
      ['fields=title&expand=autor:authors', "No document has the field 'autor'; did you mean the field 'author'?"],
      ['sort=createdAt', "No document has the field 'createdAt'; did you mean the field '_meta.createdAt'?"],
      ['sort=-updated_at&limit=2', "No document has the field 'updated_at'; did you mean the field '_meta.updatedAt'?"],
      ['sort=title.desc', /^No document has the field 'title.desc'/],
      ['fields=title,author.name', null],
      ['fields=tags.label', null],
      ['fields=-titel', null],
    ] as const) {
      for (const again of [false, true]) {
        const response = await hint(query);
        t.equal(response.shown.length, query.includes('limit=') ? Number(query.at(-1)) : 3, query);
        if (reported === null || typeof reported === 'string')
          t.equal(response.reported, reported, `${query} ${again}`);
        else t.match(response.reported, reported);
      }
    }
  });

  await t.test('_query and HEAD have the same hint', async (t) => {
    const payload = { filter: { titel: 'Dune' } };
    const requested = await app.inject({ method: 'POST', url: '/api/books/_query', payload });
    t.match(requested.headers['millrace-hint'], /did you mean the field 'title'/);
    const head = await app.inject({ method: 'HEAD', url: '/api/books?titel=Dune' });
    t.equal(head.headers['millrace-hint'], requested.headers['millrace-hint']);
  });

  await t.test('a collection without documents has no hint', async (t) => {
    await app.inject({ method: 'DELETE', url: '/api/books?filter={}', headers: { prefer: 'max-affected=10' } });
    t.equal((await hint('titel=Dune')).reported, null);
    t.notOk((await app.inject('/api/nothing?titel=Dune')).headers['millrace-hint'], 'nor one that does not exist');
  });
});

t.test('a hint reveals nothing that policies hide', { timeout: 60_000 }, async (t) => {
  const { services, hint } = await withBooks(t);
  const as = speakingAs(services);
  const [field, guest] = [as(user('m')), as(user('g'))];
  const hidden = { _id: 'h', secretive: 1, title: 'Hidden' };
  await services.mongo.data.collection<typeof hidden>('books').insertOne(hidden);
  withPolicies(services, [
    {
      resources: ['books'],
      actions: ['read'],
      principals: { users: ['m'] },
      filter: { title: { $ne: 'Hidden' } },
      fields: { read: ['*', '-year', '-author.name'] },
    },
    { resources: ['books'], actions: ['read'], principals: { users: ['g'] }, filter: { title: 'Nowhere' } },
  ]);
  t.equal(
    (await hint('titel=x', field)).reported,
    "No document has the field 'titel'; did you mean the field 'title'?",
  );
  t.equal((await hint('yaer=1', field)).reported, "No document has the field 'yaer'.", 'a hidden field is not named');
  t.notMatch((await hint('autor.name=x', field)).reported, /author\.name/);
  t.equal(
    (await hint('secretive=2', field)).reported,
    "No document has the field 'secretive'.",
    'what a document out of reach has is as if it were not there',
  );
  t.equal((await hint('sort=secretive', field)).reported, "No document has the field 'secretive'.");
  t.equal((await hint('titel=x', guest)).reported, null, 'to one that reaches nothing, nothing is said');
});

t.test('a rare field is reported as lacking in the newest documents only', { timeout: 60_000 }, async (t) => {
  const { app, hint } = await withBooks(t);
  const payload = Array.from({ length: 60 }, (_, n) => ({ id: `x${100 + n}`, n }));
  await app.inject({ method: 'POST', url: '/api/books', payload });
  t.match((await hint('titel=x')).reported, /^None of the newest 50 documents has the field 'titel'/);
});

t.test('the cost of hints', { timeout: 60_000 }, async (t) => {
  const { services, hint } = await withBooks(t);
  const { data } = services.mongo;
  const finds = async (request: () => Promise<unknown>) => {
    await data.command({ profile: 2 });
    await request();
    await data.command({ profile: 0 });
    const count = await data.collection('system.profile').countDocuments({ 'command.find': 'books' });
    await data.collection('system.profile').drop();
    return count;
  };
  t.equal(await finds(() => hint('title=Dune&sort=seq&limit=5')), 1, 'a result with documents costs one read');
  t.equal(await finds(() => hint('title=Nowhere')), 2, 'an empty one a second read');
  t.equal(await finds(() => hint('title=Elsewhere')), 1, 'but only for the first one about that field');
});

t.test('the log of development mode contains the hint', { timeout: 60_000 }, async (t) => {
  const { services } = await withBooks(t);
  let text = '';
  const out = {
    write: (line: string) => {
      text += line;
      return true;
    },
  };
  const app = await buildApp(services, pino({}, consoleLogStream(out)));
  t.teardown(() => app.close());
  await app.inject('/api/books?titel=Dune');
  await until(() => text.includes('titel=Dune'), 'the line is written');
  t.match(text, /^200 {2}GET {4}\/api\/books\?titel=Dune .*\n {5}No document has the field 'titel'; did you mean/);
});

t.test(
  'pages of other origins can read the hint, and the OpenAPI document lists it',
  { timeout: 60_000 },
  async (t) => {
    const { app } = await withBooks(t);
    const response = await app.inject({ url: '/api/books?titel=1', headers: { origin: 'http://localhost:5173' } });
    t.match(response.headers['access-control-expose-headers'], /Millrace-Hint/);
    const openApi = (await app.inject('/openapi.json')).json();
    for (const operation of [openApi.paths['/api/{collection}'].get, openApi.paths['/api/{collection}/_query'].post]) {
      t.ok(JSON.stringify(operation.responses['200']).includes('Millrace-Hint'));
    }
  },
);
