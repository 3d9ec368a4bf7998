/**
 * Every operator means the same in both written forms, also where a value has several spellings: at the id, at the
 * times of `_meta`, and for `$now`. An operator that is not in the table does not compile.
 */
import { ObjectId } from 'bson';
import t from 'tap';
import { bindVariables } from '../../../src/query/evaluate/bind-variables.ts';
import { compileMatcher } from '../../../src/query/evaluate/match.ts';
import type { FilterOperator } from '../../../src/query/filter-operators.ts';
import { parseQuery } from '../../../src/query/parse/parse-query.ts';
import { parseQueryString } from '../../../src/query/parse/parse-query-string.ts';

/** Compares a field with a value. */
interface Comparing {
  /** The operand for one value, in the short form and in JSON. */
  readonly operand: (value: string) => readonly [short: string, json: unknown];
  /** Whether that value itself passes, and whether a later one does. */
  readonly same: boolean;
  readonly later: boolean;
}

/** Tests a field in another way. */
interface Looking {
  readonly short: string;
  readonly json: unknown;
  readonly passes: unknown;
  readonly fails: unknown;
}

const itself = (value: string) => [value, value] as const;
const listed = (value: string) => [`${value},${value}`, [value, value]] as const;
const single = (value: string) => [value, [value]] as const;

const OPERATORS: Readonly<Record<FilterOperator, Comparing | Looking>> = {
  eq: { operand: itself, same: true, later: false },
  ne: { operand: itself, same: false, later: true },
  gt: { operand: itself, same: false, later: true },
  gte: { operand: itself, same: true, later: true },
  lt: { operand: itself, same: false, later: false },
  lte: { operand: itself, same: true, later: false },
  in: { operand: listed, same: true, later: false },
  nin: { operand: listed, same: false, later: true },
  all: { operand: single, same: true, later: false },
  exists: { short: 'true', json: true, passes: 1, fails: undefined },
  type: { short: 'number,date', json: ['number', 'date'], passes: 1, fails: 'x' },
  size: { short: '2', json: 2, passes: [1, 2], fails: [1] },
  contains: { short: 'b', json: 'b', passes: 'abc', fails: 'aBc' },
  icontains: { short: 'b', json: 'b', passes: 'aBc', fails: 'ac' },
  startsWith: { short: 'a', json: 'a', passes: 'ab', fails: 'ba' },
  endsWith: { short: 'a', json: 'a', passes: 'ba', fails: 'ab' },
  like: { short: 'a*c', json: 'a*c', passes: 'abc', fails: 'aBC' },
  ilike: { short: 'a*c', json: 'a*c', passes: 'aBC', fails: 'ab' },
  regex: { short: '^a', json: '^a', passes: 'ab', fails: 'ba' },
};

const NOW = new Date('2026-01-08T00:00:00Z');
const LATER = new Date('2026-01-09T00:00:00Z');
const ID = '65a000000000000000000000';

/** Where a value has several spellings: an operand, the value itself and a later one as stored. */
const PLACES: readonly (readonly [path: string, operand: string, same: unknown, later: unknown])[] = [
  ['a', 'b', 'b', 'c'],
  ['id', ID, new ObjectId(ID), new ObjectId('65a000000000000000000001')],
  ['id', ID, ID, '65a000000000000000000001'],
  ['_meta.createdAt', NOW.toISOString(), NOW, LATER],
  ['_meta.createdAt', '$now', NOW, LATER],
  ['a', '$now', NOW, LATER],
  ['a', '$now', NOW.toISOString(), LATER.toISOString()],
];

/** Whether a query finds a document with one field. */
function finder(path: string, search: string): (value: unknown) => boolean {
  const { filter } = parseQuery(parseQueryString(search));
  const match = compileMatcher(bindVariables(filter, { now: NOW, user: { id: 'u1', roles: [], claims: {} } }).filter);
  return (value) => {
    if (path === 'id') return match({ _id: value });
    return match(path === 'a' ? { a: value } : { _meta: { createdAt: value } });
  };
}

for (const [name, example] of Object.entries(OPERATORS)) {
  t.test(name, async (t) => {
    const forms = (path: string, short: string, json: unknown) => [
      `${path}[${name}]=${encodeURIComponent(short)}`,
      `filter=${encodeURIComponent(JSON.stringify({ [path]: { [`$${name}`]: json } }))}`,
    ];
    if ('short' in example) {
      for (const form of forms('a', example.short, example.json)) {
        const finds = finder('a', form);
        t.equal(finds(example.passes), true, form);
        t.equal(finds(example.fails), false, form);
      }
      return;
    }
    for (const [path, operand, same, later] of PLACES) {
      for (const form of forms(path, ...example.operand(operand))) {
        const finds = finder(path, form);
        t.equal(finds(same), example.same, `${decodeURIComponent(form)} and ${String(same)}`);
        t.equal(finds(later), example.later, `${decodeURIComponent(form)} and ${String(later)}`);
      }
    }
  });
}
