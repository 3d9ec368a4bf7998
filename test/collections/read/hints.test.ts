/**
 * `Millrace-Hint`: an answer that is empty or not sorted because of a name that no document has says so, and what was
 * probably meant. It names nothing that the one who asks may not read, and costs the database nothing for other answers.
 */
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
