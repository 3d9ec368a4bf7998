/**
 * A user's whole workflow: start the program, load real documents over HTTP, read them all back, change some, stop,
 * start again, and find everything unchanged.
 */
import t from 'tap';
import { SEED_SETS } from '../../scripts/seed-sets.ts';
import { dataFolder } from '../helpers/database/embedded-program.ts';
import { testMongo } from '../helpers/mongo.ts';
import { gone, type Program, startMillrace } from '../helpers/programs/millrace.ts';
import { runSeed } from '../helpers/programs/seed.ts';

interface Shown {
  readonly id: string;
  readonly _meta: { readonly revision: number };
  readonly [field: string]: unknown;
}

const JSON_BODY = { 'content-type': 'application/json' };

async function list(program: Program, collection: string): Promise<Shown[]> {
  const response = await fetch(`${program.url}/api/${collection}`);
  if (response.status !== 200) throw new Error(`${collection}: ${response.status}`);
  return JSON.parse(await response.text());
}

/** Changes a document; returns the server's response, null without one. */
async function change(program: Program, method: string, path: string, body?: unknown): Promise<Shown | null> {
  const response = await fetch(`${program.url}/api/${path}`, {
    method,
    ...(body === undefined ? {} : { headers: JSON_BODY, body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.status === 204 ? null : JSON.parse(await response.text());
}

/** A document without the server's fields. */
function bare({ id: _id, _meta, ...fields }: Shown): Record<string, unknown> {
  return fields;
}

/** The JSON of documents whose order does not matter; the order of their fields does. */
const texts = (documents: readonly unknown[]) => documents.map((document) => JSON.stringify(document)).sort();

async function source(name: string) {
  const documents = await SEED_SETS.find((set) => set.name === name)?.read();
  if (documents === undefined) throw new Error(`There is no ${name}`);
  return documents;
}

/** Field names that JavaScript or MongoDB may find odd, as a client writes them. */
const ODD = `{"id":"odd","constructor":"c","toString":null,"a.b":{"c.d":[1]},"$set":{"$inc":1},
"$":"d","":"empty","_class":"k","__v":0,"hasOwnProperty":false,"length":-1,"then":"t","toJSON":{"a":1},
"\\u00e9":1,"e\\u0301":2,"\\ud83d\\ude00":[],"0":"zero","-1":"minus","sp ace":[[],{},[[]]],"long":[1e300,-0.1,4294967296,9007199254740991]}`;

t.test('a user starts, loads, reads, changes, stops and starts again', async (t) => {
  const folder = await dataFolder(t);
  const first = await startMillrace(t, { folder, entry: 'scripts/start.mjs' });
  t.comment(`first start: ${first.startMs} ms`);
  t.match(first.output(), /^\s*Millrace \d+\.\d+\.\d+ is running$/m);
  t.match(first.output(), /MongoDB \d+\.\d+\.\d+, embedded/);
  t.match(first.output(), /all clients have full access/);
  t.notMatch(first.output(), /is not a setting/);
  t.ok(first.output().includes(`curl ${first.url}/api/todos`), 'a line to try is there');
  t.ok(first.output().includes(folder), 'the data folder is printed');

  const seeded = await runSeed(['countries', 'movies', '--url', first.url]);
  t.match(seeded, {
    code: 0,
    errors: /^$/,
    output: /countries +250 of 250 .*movies +3,201 of 3,201 .*3,451 documents/s,
  });

  await t.test('all documents read back, field by field', async (t) => {
    const movies = await list(first, 'movies');
    t.equal(movies.length, 3_201);
    t.strictSame(texts(movies.map(bare)), texts(await source('movies')));
    const countries = await list(first, 'countries');
    t.strictSame(texts(countries.map(bare)), texts(await source('countries')));
    t.strictSame(
      countries.map(({ id }) => id),
      countries.map((country) => country['cca3']).sort(),
    );
  });

  await t.test('odd field names come back as they were sent', async (t) => {
    const response = await fetch(`${first.url}/api/odd`, { method: 'POST', headers: JSON_BODY, body: ODD });
    t.equal(response.status, 201, 'created');
    const got = JSON.parse(await (await fetch(`${first.url}/api/odd/odd`)).text());
    const sent: object = JSON.parse(ODD);
    t.strictSame(Object.entries(got).slice(0, -1), Object.entries(sent));
    t.equal(Object.keys(got).at(-1), '_meta');
  });

  const expected = new Map((await list(first, 'movies')).map((movie) => [movie.id, movie]));
  await t.test('some documents are changed', async (t) => {
    const remember = (shown: Shown | null) => shown && expected.set(shown.id, shown);
    for (const [index, movie] of [...expected.values()].slice(0, 60).entries()) {
      const path = `movies/${movie.id}`;
      if (index % 3 === 0) {
        await change(first, 'DELETE', path);
        expected.delete(movie.id);
      } else if (index % 3 === 1) {
        const patch = { 'IMDB Rating': null, seen: { by: ['me'], 'at.home': true } };
        const { 'IMDB Rating': _gone, ...rest } = bare(movie);
        const patched = await change(first, 'PATCH', path, patch);
        t.strictSame(patched && bare(patched), { ...rest, seen: patch.seen });
        remember(patched);
      } else {
        const next = { ...movie, Title: `${movie['Title']} (again)` };
        const replaced = await change(first, 'PUT', path, next);
        t.strictSame(replaced && bare(replaced), bare(next));
        remember(replaced);
      }
    }
    t.equal(expected.size, 3_201 - 20);
    t.strictSame(await list(first, 'movies'), [...expected.values()], 'the list shows them so');
  });
  const before = [await list(first, 'countries'), await list(first, 'odd')];

  const holder = await first.holder();
  t.equal(await first.end('SIGTERM'), 0, 'SIGTERM ends it cleanly');
  t.ok(holder && (await gone(holder.mongod)), 'and its MongoDB');
  t.equal(await first.holder(), null, 'the folder is not in use');

  const second = await startMillrace(t, { folder, entry: 'scripts/start.mjs' });
  t.comment(`second start: ${second.startMs} ms (the goal on a quiet machine is 2000)`);
  t.strictSame(await list(second, 'movies'), [...expected.values()], 'everything is as it was left');
  t.strictSame([await list(second, 'countries'), await list(second, 'odd')], before);

  await t.test('seeding again leaves documents alone, unless it is forced', async (t) => {
    t.match(await runSeed(['countries', '--url', second.url]), { code: 0, output: /countries +already has documents/ });
    t.equal((await list(second, 'countries')).length, 250);
    t.match(await runSeed(['countries', '--force', '--url', second.url]), { code: 0, output: /250 of 250/ });
    t.equal((await list(second, 'countries')).length, 500);
  });

  await t.test('kill -9 of the starter ends the program and its MongoDB', async (t) => {
    const left = await second.holder();
    t.ok(left?.owner, 'the program is known');
    second.child.kill('SIGKILL');
    t.ok(await gone(left?.owner ?? null), 'the program has ended');
    t.ok(await gone(left?.mongod ?? null), 'its MongoDB has ended');
  });
});

t.test('the program continues to serve when the reader of its output has closed it', async (t) => {
  const { url, database } = await testMongo(t);
  const env = { MILLRACE_LOG_LEVEL: 'info', MONGODB_URL: url, MILLRACE_DB: database };
  const program = await startMillrace(t, { folder: await dataFolder(t), env });
  program.child.stdout?.destroy();
  program.child.stderr?.destroy();
  // Each request is a log line without a reader.
  for (let n = 0; n < 3; n++) {
    const response = await fetch(`${program.url}/api/lines`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ n }),
    });
    t.equal(response.status, 201);
  }
  t.equal(await program.end('SIGTERM'), 0);
});
