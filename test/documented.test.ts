/**
 * Hand-written pages contain every row of the closed tables: routes, parameters of a list, operators, kinds of patch.
 */
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { PATCH_MEDIA_TYPES } from '../src/collections/patch/patch-bodies.ts';
import { UPDATE_OPERATORS } from '../src/collections/patch/update-operators.ts';
import { escapeRegExp } from '../src/lib/escape-reg-exp.ts';
import { FILTER_OPERATORS } from '../src/query/filter-operators.ts';
import { TEXT_OPERATORS } from '../src/query/operators.ts';
import { LIST_QUERY_PARAMETERS } from '../src/query/parse/query-openapi.ts';
import { ROWS } from './policies/matrix-rows.ts';

const ROOT = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
const API = read('docs/api.md');
const PAGES = [
  read('README.md'),
  ...readdirSync(new URL('docs', ROOT))
    .filter((name) => name.endsWith('.md'))
    .map((name) => read(`docs/${name}`)),
].join('\n');

/** What the page of the OpenAPI document and the dashboard load. */
const PARTS_OF_A_PAGE = /^\/docs\/(?:page|reference)|^\/dashboard(?:\*|\/assets)/;

/** Whether the words occur in the text as whole words. */
function names(text: string, words: string): boolean {
  const escaped = escapeRegExp(words);
  return new RegExp(`(?<![\\w$-])${escaped}(?![\\w-])`).test(text);
}

t.test('docs/api.md names every operator', async (t) => {
  const list = /\| `field\[op\]=value` +\| `([^`]+)`/.exec(API)?.[1] ?? '';
  t.strictSame(list.split(' ').sort(), [...FILTER_OPERATORS].sort());
});

t.test('docs/api.md names every operator that searches a text with its cost', async (t) => {
  const list = /\| (.+?) +\| [^|]+ for each character of its text +\|/.exec(API)?.[1] ?? '';
  t.strictSame(list.replaceAll('`', '').split(', ').sort(), Object.keys(TEXT_OPERATORS).sort());
});

t.test('docs/api.md names every parameter of a list', async (t) => {
  for (const { name } of LIST_QUERY_PARAMETERS) if (name !== 'conditions') t.ok(names(API, name), name);
});

t.test('docs/api.md names every kind of patch, and every operator of an update', async (t) => {
  for (const type of PATCH_MEDIA_TYPES) t.ok(names(API, type), type);
  for (const operator of UPDATE_OPERATORS.keys()) t.ok(names(API, operator), operator);
});

t.test('the pages contain every route', async (t) => {
  for (const path of new Set(ROWS.map(({ route }) => route.slice(route.indexOf(' ') + 1)))) {
    if (PARTS_OF_A_PAGE.test(path)) continue;
    // Pages write a parameter as {name}, or as an example.
    const pattern = path.split(/:\w+/).map(escapeRegExp);
    t.ok(new RegExp(`${pattern.join('[^/\\s`|]+')}(?![\\w/])`).test(PAGES), path);
  }
});
