/**
 * What is probably wrong with the values of conditions that match nothing: the kind of a value, or an operator in the
 * notation of another backend. Pure.
 */
import { BSON_KIND, type BsonKind, bsonKindOf } from '../../query/evaluate/bson-order.ts';
import { clientPath } from '../../query/field-paths.ts';
import type { BsonValue, FieldTest, Filter } from '../../query/filter.ts';
import type { FilterOperator } from '../../query/filter-operators.ts';
import { TEXT_OPERATORS } from '../../query/operators.ts';
import { foreignOperatorHint, formatCondition } from '../../query/parse/foreign-syntax-hints.ts';
import { readDate, readNumber } from '../../query/parse-values.ts';
import type { SampledFieldKinds } from './sampled-fields.ts';

/** Characters of a value in a hint. */
export const MAX_HINT_VALUE_CHARACTERS = 60;

interface Leaf {
  readonly path: string;
  readonly test: FieldTest;
}

/** Conditions of which at least one must match. Conditions under a negation match values of another kind. */
type Unit = readonly Leaf[];

function unitsOf(filter: Filter): readonly Unit[] {
  switch (filter.kind) {
    case 'field':
      return filter.test.op === 'not' ? [] : [[filter]];
    case 'and':
      return filter.filters.flatMap(unitsOf);
    case 'or': {
      const branches = filter.filters.map(unitsOf);
      return branches.every((units) => units.length === 1) ? [branches.flat(2)] : [];
    }
    case 'nor':
      return [];
    default:
      return filter satisfies never;
  }
}

/** A text in a hint: truncated, in quotes. */
export function quoteHintValue(value: string): string {
  return `'${value.slice(0, MAX_HINT_VALUE_CHARACTERS)}${value.length > MAX_HINT_VALUE_CHARACTERS ? '…' : ''}'`;
}

/** Conditions in the notation of another backend, such as `title=eq.Dune` and `title=*un*`. */
export function otherBackendSyntaxHints(filter: Filter): readonly string[] {
  const found = new Set<string>();
  for (const { path, test } of unitsOf(filter).flat()) {
    const sentence = foreignValue(clientPath(path), test);
    if (sentence !== null) found.add(sentence);
  }
  return [...found];
}

function foreignValue(name: string, test: FieldTest): string | null {
  if (test.op === 'text') return strangeText(name, test);
  const [text] = textsInTest(test);
  if (text === undefined || test.op === 'regex') return null;
  const meant = foreignOperatorHint(name, text);
  if (meant !== null) {
    return `'${name}' is compared with the string ${quoteHintValue(text)}; an operator is written ${meant.slice(0, MAX_HINT_VALUE_CHARACTERS * 2)}.`;
  }
  if (test.op !== 'in' || !/^[*%].|.[*%]$/s.test(text)) return null;
  return `'${name}' is compared with the string ${quoteHintValue(text)}; to match a part of a string, write ${likeOf(name, 'like', text)}.`;
}

function strangeText(name: string, test: Extract<FieldTest, { op: 'text' }>): string | null {
  const { text, fold, how } = test;
  if (how !== 'like') {
    if (!/^[*%].*[*%]$/s.test(text)) return null;
    return `'${operatorOf(test)}' matches ${quoteHintValue(text)} literally; write ${formatCondition(name, operatorOf(test), text.slice(1, -1))}.`;
  }
  const like = fold ? 'ilike' : 'like';
  if (text.includes('%')) return `In '${like}', * matches any characters: ${likeOf(name, like, text)}.`;
  if (text.includes('*')) return null;
  return `'${like}' without * compares the whole string; to match a part, write ${likeOf(name, like, `*${text}*`)}.`;
}

function likeOf(name: string, like: FilterOperator, text: string): string {
  return formatCondition(name, like, text.replaceAll('%', '*').slice(0, MAX_HINT_VALUE_CHARACTERS));
}

/** Conditions with values of a kind that their fields never have, according to a sample. */
export function valueTypeHints(filter: Filter, { kinds, names }: SampledFieldKinds): readonly string[] {
  const found = new Map<string, string>();
  for (const unit of unitsOf(filter)) {
    const strange = unit.map((leaf) => ({ leaf, held: held(kinds.get(leaf.path)) }));
    const isStrange = strange.every(({ leaf, held }) => held.length > 0 && wants(leaf.test, held));
    const [first] = strange;
    if (first === undefined || !isStrange) continue;
    found.set(first.leaf.path, strangeKind(first.leaf, first.held, names));
  }
  return [...found.values()];
}

const held = (kinds: ReadonlySet<BsonKind> | undefined): readonly BsonKind[] =>
  kinds === undefined ? [] : [...kinds].filter((kind) => kind !== BSON_KIND.null);

/** True if the test needs values of other kinds than these. */
function wants(test: FieldTest, held: readonly BsonKind[]): boolean {
  const requested = requestedKinds(test);
  return requested.length > 0 && !requested.some((kind) => kind === BSON_KIND.null || held.includes(kind));
}

function requestedKinds(test: FieldTest): readonly BsonKind[] {
  switch (test.op) {
    case 'in':
    case 'all':
      return test.values.map(bsonKindOf);
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return [bsonKindOf(test.value)];
    case 'text':
    case 'regex':
      return [BSON_KIND.string];
    case 'size':
    case 'elem':
    case 'elemWhere':
      return [BSON_KIND.array];
    case 'exists':
    case 'type':
    case 'not':
      return [];
    default:
      return test satisfies never;
  }
}

const KIND_WORDS: Readonly<Partial<Record<BsonKind, readonly [one: string, many: string]>>> = {
  [BSON_KIND.number]: ['a number', 'numbers'],
  [BSON_KIND.string]: ['a string', 'strings'],
  [BSON_KIND.object]: ['an object', 'objects'],
  [BSON_KIND.array]: ['an array', 'arrays'],
  [BSON_KIND.binary]: ['binary data', 'binary data'],
  [BSON_KIND.objectId]: ['an ObjectId', 'ObjectIds'],
  [BSON_KIND.boolean]: ['a boolean', 'booleans'],
  [BSON_KIND.date]: ['a date', 'dates'],
};

function strangeKind({ path, test }: Leaf, held: readonly BsonKind[], names: readonly string[]): string {
  const name = clientPath(path);
  const many = held.map((kind) => KIND_WORDS[kind]?.[1] ?? 'other values').join(' and ');
  const [only] = held;
  const holds = `'${name.slice(0, MAX_HINT_VALUE_CHARACTERS)}' contains ${many}`;
  if (test.op === 'text' || test.op === 'regex') return `${holds}; '${operatorOf(test)}' matches strings only.`;
  if (test.op === 'size') return `${holds}; 'size' counts the elements of arrays.`;
  if (held.length === 1 && only === BSON_KIND.object) {
    const field = names.find(
      (one) => one.length <= MAX_HINT_VALUE_CHARACTERS && (one.startsWith(`${name}.`) || one.startsWith(`${name}['`)),
    );
    return field === undefined ? `${holds}.` : `${holds}; write their fields as '${field}'.`;
  }
  const value = firstValue(test);
  if (value === undefined) return `${holds}, no arrays.`;
  return `${holds} and is compared with ${described(value)}${spelledFor(name, test, value, held)}.`;
}

function described(value: BsonValue): string {
  const word = KIND_WORDS[bsonKindOf(value)]?.[0] ?? 'another value';
  const text = plain(value);
  if (text === null) return word;
  return typeof value === 'string'
    ? `${word.replace('a ', 'the ')} ${quoteHintValue(text)}`
    : `${word.replace(/^an? /, 'the ')} ${text.slice(0, MAX_HINT_VALUE_CHARACTERS)}`;
}

/** How to write the value so that it has the field's kind. */
function spelledFor(name: string, test: FieldTest, value: BsonValue, held: readonly BsonKind[]): string {
  const text = plain(value);
  if (text === null) return '';
  const operator = operatorOf(test);
  if (typeof value !== 'string') {
    if (!held.includes(BSON_KIND.string)) return '';
    const json = JSON.stringify(text);
    return `; as a string it is written ${formatCondition(name, operator, json)}, or {"$${operator}":${json}} in a JSON filter`;
  }
  if (held.includes(BSON_KIND.number) && readNumber(text) !== null) {
    return `; as a number it is written ${formatCondition(name, operator, text)}, or {"$${operator}":${text}} in a JSON filter`;
  }
  if (held.includes(BSON_KIND.objectId) && /^[0-9a-f]{24}$/i.test(text)) {
    return `; as an ObjectId it is written filter={${JSON.stringify(name)}:{"$${operator}":{"$oid":"${text}"}}}`;
  }
  if (!held.includes(BSON_KIND.date)) return '';
  const time = readDate(text) === null ? '2026-01-31T12:00:00Z' : text;
  return `; a date is written ${formatCondition(name, operator, time)}, or {"$${operator}":{"$date":"${time}"}} in a JSON filter`;
}

/** A value with a text form; null for lists, objects and others. */
function plain(value: BsonValue): string | null {
  if (value instanceof Date) return value.toISOString();
  const kind = bsonKindOf(value);
  return kind === BSON_KIND.string ||
    kind === BSON_KIND.number ||
    kind === BSON_KIND.boolean ||
    kind === BSON_KIND.objectId
    ? String(value)
    : null;
}

function firstValue(test: FieldTest): BsonValue | undefined {
  if (test.op === 'in' || test.op === 'all') return test.values[0];
  return 'value' in test ? test.value : undefined;
}

/** The operator's name in the short form. */
function operatorOf(test: FieldTest): FilterOperator {
  switch (test.op) {
    case 'in':
      return test.values.length === 1 ? 'eq' : 'in';
    case 'text': {
      const [name] =
        Object.entries(TEXT_OPERATORS).find(([, one]) => one.how === test.how && one.fold === test.fold) ?? [];
      return (name ?? 'contains') as FilterOperator;
    }
    case 'not':
      return 'ne';
    case 'elem':
    case 'elemWhere':
      return 'all';
    default:
      return test.op;
  }
}

/** The texts that a test compares with or searches for. */
export function textsInTest(test: FieldTest): readonly string[] {
  if (test.op === 'text') return [test.text];
  if (test.op === 'regex') return [test.pattern];
  const values = test.op === 'in' || test.op === 'all' ? test.values : 'value' in test ? [test.value] : [];
  return values.filter((value) => typeof value === 'string');
}
