/** Fills the variables of a filter, so that it can be evaluated. Pure; the user's values and the time are arguments. */

import { clientPath } from '../field-paths.ts';
import {
  and,
  type BsonValue,
  type FieldTest,
  type Filter,
  fieldFilter,
  matchNoneFilter,
  not,
  or,
  type UnboundFieldTest,
  type UnboundFilter,
  Variable,
} from '../filter.ts';
import { QUERY_LIMITS } from '../limits.ts';
import { invalidFilter, requireListLimit } from '../operators.ts';
import { possibleValuesAtPath, type UnboundValue } from '../parse-values.ts';

/** Values of variables. */
export interface VariableBindings {
  /** The time that `$now` represents. */
  readonly now: Date;
  /** The requesting user; null for anonymous requests, where `$user…` has no value. */
  readonly user: {
    readonly id: string;
    readonly roles: readonly string[];
    readonly claims: Readonly<Record<string, unknown>>;
  } | null;
}

/** A bound filter, and the variables without a value: if there are any, the filter is `nothing`. */
export interface BoundFilter {
  readonly filter: Filter;
  /** Names as written (`$user.id`), each once. A deny policy that lacks one must match everything instead. */
  readonly missing: readonly string[];
}

/**
 * Fills the variables of a filter. In an equality test, a list represents any of its items. `$now` represents the date
 * and its ISO 8601 text, because documents may contain either.
 * @throws MillraceError `invalid-filter` when a list of values grows over the limit
 */
export function bindVariables(filter: UnboundFilter, bindings: VariableBindings): BoundFilter {
  const missing = new Set<string>();
  const bound = bindFilter(filter, { bindings, missing, root: true, at: '', now: 'date' });
  return missing.size === 0 ? { filter: bound, missing: [] } : { filter: matchNoneFilter, missing: [...missing] };
}

/**
 * Fills the variables of a value that will be stored; `$now` is its text, as clients write times.
 * @returns undefined when a variable has no value
 */
export function bindValue(value: UnboundValue, bindings: VariableBindings): BsonValue | undefined {
  const missing = new Set<string>();
  const bound = oneOf(value, { bindings, missing, root: false, at: '', now: 'text' });
  return missing.size === 0 ? bound : undefined;
}

/** The variables without a value in a value, named as written. */
export function missingVariables(value: UnboundValue, bindings: VariableBindings): readonly string[] {
  const missing = new Set<string>();
  oneOf(value, { bindings, missing, root: false, at: '', now: 'text' });
  return [...missing];
}

interface Binding {
  readonly bindings: VariableBindings;
  readonly missing: Set<string>;
  /** True if paths start at the document itself, where ids and times have several spellings. */
  readonly root: boolean;
  /** The path in the tested document; empty inside of arrays. */
  readonly at: string;
  /** The form of `$now` where it cannot be both. */
  readonly now: 'date' | 'text';
}

function bindFilter(filter: UnboundFilter, binding: Binding): Filter {
  switch (filter.kind) {
    case 'and':
      return and(filter.filters.map((inner) => bindFilter(inner, binding)));
    case 'or':
      return or(filter.filters.map((inner) => bindFilter(inner, binding)));
    case 'nor':
      return not(or(filter.filters.map((inner) => bindFilter(inner, binding))));
    case 'field':
      return bindField(filter.path, filter.test, binding);
    default:
      return filter satisfies never;
  }
}

function bindField(path: string, test: UnboundFieldTest, outer: Binding): Filter {
  const binding = { ...outer, at: outer.root ? path : '' };
  switch (test.op) {
    case 'in': {
      const values = test.values.flatMap((value) => anyOf(value, binding));
      return fieldFilter(path, {
        op: 'in',
        values: requireListLimit(values, `'${clientPath(path)}'`, QUERY_LIMITS.meantValues),
      });
    }
    case 'all': {
      const each = requireListLimit(eachOfAll(test.values, binding), `'${clientPath(path)}'`, QUERY_LIMITS.meantValues);
      return each.length === 0 ? matchNoneFilter : and(each.map((values) => fieldFilter(path, { op: 'in', values })));
    }
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return or(anyOf(test.value, binding).map((value) => fieldFilter(path, { op: test.op, value })));
    case 'not':
      return not(and(test.tests.map((inner) => bindField(path, inner, outer))));
    case 'elem':
      return or(spellingsOfNow(test).map((now) => fieldFilter(path, bindTest(test, { ...binding, at: '', now }))));
    case 'exists':
    case 'type':
    case 'size':
    case 'text':
    case 'regex':
    case 'elemWhere':
      return fieldFilter(path, bindTest(test, { ...binding, at: '' }));
    default:
      return test satisfies never;
  }
}

/** A test of one value by itself, where `$now` is either a date or a text. */
function bindTest(test: UnboundFieldTest, binding: Binding): FieldTest {
  switch (test.op) {
    case 'in':
      return { op: 'in', values: test.values.flatMap((value) => anyOf(value, binding)) };
    case 'all':
      return { op: 'all', values: eachOfAll(test.values, binding).flatMap((values) => values.slice(0, 1)) };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { op: test.op, value: oneOf(test.value, binding) };
    case 'not':
    case 'elem':
      return { op: test.op, tests: test.tests.map((inner) => bindTest(inner, binding)) };
    case 'elemWhere':
      return { op: 'elemWhere', filter: bindFilter(test.filter, { ...binding, root: false, at: '' }) };
    case 'text':
      return { ...test, text: bindText(test.text, binding) };
    case 'exists':
    case 'type':
    case 'size':
    case 'regex':
      return test;
    default:
      return test satisfies never;
  }
}

/** An element is a date or a text, never both, so testing it with all dates or with all texts covers both spellings. */
function spellingsOfNow(test: UnboundFieldTest): readonly Binding['now'][] {
  return namesNow(test) ? ['date', 'text'] : ['date'];
}

function namesNow(test: UnboundFieldTest): boolean {
  switch (test.op) {
    case 'in':
    case 'all':
      return test.values.some(isNow);
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return isNow(test.value);
    case 'not':
    case 'elem':
      return test.tests.some(namesNow);
    // A text to search for is always a text, and the filter inside `elemWhere` binds each of its own fields.
    case 'text':
    case 'elemWhere':
    case 'exists':
    case 'type':
    case 'size':
    case 'regex':
      return false;
    default:
      return test satisfies never;
  }
}

const isNow = (value: UnboundValue): boolean => value instanceof Variable && value.name === 'now';

/** The values that match instead of one value: the items of a list, or the date and the text of `$now`. */
function anyOf(value: UnboundValue, binding: Binding): readonly BsonValue[] {
  return eachOf(value, binding).flat();
}

function eachOfAll(values: readonly UnboundValue[], binding: Binding): readonly (readonly BsonValue[])[] {
  return values.flatMap((value) => eachOf(value, binding));
}

/**
 * For each item of a list, the values that match. Values without variables got their spellings when they were parsed.
 */
function eachOf(value: UnboundValue, binding: Binding): readonly (readonly BsonValue[])[] {
  if (!(value instanceof Variable)) return [[oneOf(value, binding)]];
  if (value.name === 'now') return [possibleValuesAtPath(binding.at, lookUpNow(value, binding))];
  const found = lookUp(value, binding);
  return (isValues(found) ? found : [found]).map((item) => possibleValuesAtPath(binding.at, [item]));
}

/** Exactly one value; variables inside of lists and objects are filled in place. */
function oneOf(value: UnboundValue, binding: Binding): BsonValue {
  if (value instanceof Variable) return lookUp(value, binding);
  if (isList(value)) return value.map((item) => oneOf(item, binding));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, property]) => [name, oneOf(property, binding)]));
}

function lookUp(variable: Variable, binding: Binding): BsonValue {
  if (variable.name === 'now') {
    const [date = null, text = null] = lookUpNow(variable, binding);
    return binding.now === 'date' ? date : text;
  }
  const value = valueOfUser(variable.name, binding.bindings.user);
  if (value !== null) return value;
  binding.missing.add(`$${variable.name}`);
  return null;
}

/** The time as a date and as a text. */
function lookUpNow({ offsetMs }: Variable, { bindings }: Binding): readonly BsonValue[] {
  const date = new Date(bindings.now.getTime() + offsetMs);
  if (Number.isNaN(date.getTime())) throw invalidFilter('$now with this offset is not a possible date');
  return [date, date.toISOString()];
}

function valueOfUser(name: string, user: VariableBindings['user']): BsonValue | null {
  if (user === null) return null;
  if (name === 'user.id') return user.id;
  if (name === 'user.roles') return user.roles;
  return readClaim(name.split('.').slice(2), user.claims);
}

/** Claims come from tokens: only plain values and lists of them are compared; an object counts as absent. */
function readClaim(steps: readonly string[], claims: Readonly<Record<string, unknown>>): BsonValue | null {
  let found: unknown = claims;
  for (const step of steps) {
    if (!isRecord(found) || !Object.hasOwn(found, step)) return null;
    found = found[step];
  }
  if (!Array.isArray(found)) return isPlain(found) ? found : null;
  return found.every(isPlain) ? found : null;
}

const isPlain = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isValues = (value: BsonValue): value is readonly BsonValue[] => Array.isArray(value);
const isList = (value: UnboundValue): value is readonly UnboundValue[] => Array.isArray(value);

function isObject(value: UnboundValue): value is { readonly [key: string]: UnboundValue } {
  return isRecord(value) && Object.getPrototypeOf(value) === Object.prototype;
}

/** A text to search for must be a text; another kind of value counts as missing. */
function bindText(text: string | Variable, binding: Binding): string {
  if (typeof text === 'string') return text;
  const value = lookUp(text, { ...binding, now: 'text' });
  if (typeof value === 'string' && value.length <= QUERY_LIMITS.textLength) return value;
  binding.missing.add(`$${text.name}`);
  return '';
}
