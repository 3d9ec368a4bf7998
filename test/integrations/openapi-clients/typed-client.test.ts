/**
 * A client that is generated from the running server: its program over two real collections type-checks, wrong uses of
 * a field do not, and it returns the stored data. So the fields of collections have types, not `unknown`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { bodies, SEED_SETS } from '../../../scripts/seed-sets.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { compile, programFolder, runNode, runPackage } from '../../helpers/programs/openapi-clients.ts';

const PROGRAM = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api.ts';

type Movie = components['schemas']['MoviesDocument'];
type Country = components['schemas']['CountriesDocument'];
type Is<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

export const typed: {
  title: Is<Movie['Title'], string | undefined>;
  votes: Is<Movie['IMDB Votes'], number | null | undefined>;
  director: Is<Movie['Director'], string | null | undefined>;
  borders: Is<Country['borders'], string[] | undefined>;
  landlocked: Is<Country['landlocked'], boolean | undefined>;
  common: Is<NonNullable<Country['name']>['common'], string | undefined>;
} = { title: true, votes: true, director: true, borders: true, landlocked: true, common: true };

const client = createClient<paths>({ baseUrl: process.argv[2] ?? '' });
const movies = await client.GET('/api/movies', { params: { query: { sort: '-IMDB Votes', limit: 2 } } });
if (movies.error !== undefined) throw new Error(movies.error.code);
const country = await client.GET('/api/countries', { params: { query: { limit: 1, fields: 'name,area' } } });
if (country.error !== undefined) throw new Error(country.error.code);

const titles: (string | undefined)[] = movies.data.map((movie) => movie.Title?.toUpperCase());
const area: number = country.data[0]?.area ?? 0;
console.log(JSON.stringify({ titles, area, name: country.data[0]?.name?.common }));
`;

const WRONG = `
import createClient from 'openapi-fetch';
import type { paths } from './api.ts';
const client = createClient<paths>();
const { data } = await client.GET('/api/movies', { params: { query: { limit: 2 } } });
export const votes: string | undefined = data?.[0]?.['IMDB Votes'];
export const answer = client.GET('/api/movies', { params: { query: { limit: 'two' } } });
`;

/**
 * Writes the real documents of a collection. Its members' types come from the 20 newest documents by id, so each document
 * has its place in the source for its id: ids that the server gives would leave to chance which 20 those are.
 */
async function write(url: string, name: string): Promise<void> {
  const set = SEED_SETS.find((set) => set.name === name);
  const documents = (await set?.read()) ?? [];
  const placed = documents.map((document, index) => ({
    ...document,
    id: String(index).padStart(6, '0'),
  }));
  for (const { text, count } of bodies(placed)) {
    const headers = { 'content-type': 'application/json', prefer: 'return=minimal' };
    const response = await fetch(`${url}/api/${name}`, { method: 'POST', headers, body: text });
    if (!response.ok) throw new Error(`${count} documents of ${name}: ${await response.text()}`);
    await response.body?.cancel();
  }
}

t.setTimeout(300_000);
t.test('a generated client has typed fields', async (t) => {
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  for (const name of ['movies', 'countries']) await write(url, name);
  const folder = programFolder(t);
  const from = `${url}/openapi.json?tags=documents`;
  const generated = await runPackage('openapi-typescript/bin/cli.js', [from, '-o', 'api.ts'], folder);
  t.equal(generated.code, 0, generated.output);

  writeFileSync(join(folder, 'program.ts'), PROGRAM);
  t.equal(await compile(folder), '', 'the program compiles');
  const printed = await runNode([join(folder, 'dist/program.js'), url], folder);
  t.match(JSON.parse(printed.output), { titles: [/[A-Z]/, /[A-Z]/], area: Number, name: /./ }, 'and runs');

  writeFileSync(join(folder, 'wrong.ts'), WRONG);
  const said = await compile(folder);
  t.match(said, /wrong\.ts\(6,.*number.* is not assignable to type 'string/);
  t.match(said, /wrong\.ts\(7,.*Type 'string' is not assignable to type 'number'/);
  t.notMatch(said, /program\.ts/);
});
