/**
 * The full form of a filter, a JSON object such as `{"price": {"$lt": 10}, "$or": […]}`, parsed into the typed tree.
 * Values are never coerced, and unknown operators are rejected, so no operator of a client reaches the database
 * directly.
 */
import { ObjectId } from 'bson';
import { FORBIDDEN_FIELD_NAMES } from '../../lib/server-fields.ts';
import { parseDocumentPath, parseQueryPath } from '../field-paths.ts';
import {
  and,
  type BsonTypeName,
  fieldFilter,
  not,
  or,
  type UnboundFieldTest,
  type UnboundFilter,
  Variable,
} from '../filter.ts';
import { FILTER_OPERATORS, type FilterOperator } from '../filter-operators.ts';
import { QUERY_LIMITS } from '../limits.ts';
import {
  buildPathFilter,
  invalidFilter,
  parseOperator,
  parseTypeName,
  requireListLimit,
  requireTextLimit,
  TEXT_OPERATORS,
  unknownOperator,
} from '../operators.ts';
import { readDate, type UnboundValue } from '../parse-values.ts';
import { parseTextOrVariable } from '../parse-variables.ts';
import { PatternValidator } from '../text/pattern.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const LOGICAL = ['$and', '$or', '$nor', '$not'];
const AT_FIELDS = [...FILTER_OPERATORS.map((name) => `$${name}`), '$not', '$elemMatch'];

/** The parser's position: how deep, whether in the document itself or in an array element, and how much was parsed. */
interface ParseLocation {
  readonly depth: number;
  readonly root: boolean;
  /** In `$elemMatch` on values; `negated` once below a `$not` there. */
  readonly element: 'no' | 'yes' | 'negated';
  readonly read: { conditions: number; readonly patterns: PatternValidator };
}

/**
 * Parses a filter from JSON. Its variables stay open; `bind` fills them.
 * @param patterns the patterns parsed so far for the same filter
 * @throws MillraceError `invalid-filter`, `unknown-operator`
 */
export function parseFilterJson(value: unknown, patterns = new PatternValidator()): UnboundFilter {
  return readFilter(value, { depth: 1, root: true, element: 'no', read: { conditions: 0, patterns } }, 'A filter');
}

function readFilter(value: unknown, location: ParseLocation, what: string): UnboundFilter {
  if (!isObject(value)) throw invalidFilter(`${what} must be a JSON object`);
  checkDepth(location);
  const fields = requireListLimit(Object.entries(value), what);
  return and(fields.map(([name, property]) => readProperty(name, property, location)));
}

function readProperty(name: string, value: unknown, location: ParseLocation): UnboundFilter {
  if (!name.startsWith('$')) return readField(name, value, location);
  if (name === '$not') return not(readFilter(value, inside(location), '$not'));
  if (!LOGICAL.includes(name)) throw unknownOperator(name, [...new Set([...LOGICAL, ...AT_FIELDS])]);
  if (!Array.isArray(value) || value.length === 0) throw invalidFilter(`${name} must be a list of one or more filters`);
  const filters = requireListLimit(value, name).map((filter) =>
    readFilter(filter, inside(inside(location)), `An item of ${name}`),
  );
  if (name === '$and') return and(filters);
  return name === '$or' ? or(filters) : not(or(filters));
}

function readField(name: string, value: unknown, location: ParseLocation): UnboundFilter {
  location.read.conditions += 1;
  if (location.read.conditions > QUERY_LIMITS.conditions) {
    throw invalidFilter(`A filter has at most ${QUERY_LIMITS.conditions.toLocaleString('en')} conditions`);
  }
  const tests = hasOperators(value)
    ? readTests(value, inside(location))
    : [{ op: 'in', values: [readValue(value, inside(location))] } as const];
  if (location.root) return buildPathFilter(parseQueryPath(name), tests);
  const path = parseDocumentPath(name);
  return and(tests.map((test) => fieldFilter(path, test)));
}

function readTests(operators: JsonObject, location: ParseLocation): readonly UnboundFieldTest[] {
  checkDepth(location);
  return Object.entries(operators).flatMap(([name, operand]) => {
    if (name === '$not') return readNot(operand, location);
    if (name === '$elemMatch') return readElement(operand, location);
    if (!name.startsWith('$') || !AT_FIELDS.includes(name)) throw unknownOperator(name, AT_FIELDS);
    return readTest(parseOperator(name.slice(1)), operand, location);
  });
}

function readTestsOf(name: string, operand: unknown, location: ParseLocation): readonly UnboundFieldTest[] {
  if (hasOperators(operand)) return readTests(operand, inside(location));
  throw invalidFilter(`${name} must be an object of operators, such as {"$gt": 5}`);
}

function readNot(operand: unknown, location: ParseLocation): UnboundFieldTest {
  const element = location.element === 'no' ? 'no' : 'negated';
  return { op: 'not', tests: readTestsOf('$not', operand, { ...location, element }) };
}

/** `{"$elemMatch": {"$gt": 1}}` tests elements as values, `{"$elemMatch": {"a": 1}}` tests them as documents. */
function readElement(operand: unknown, location: ParseLocation): UnboundFieldTest {
  if (requestsValues(operand)) {
    return { op: 'elem', tests: readTestsOf('$elemMatch', operand, { ...location, element: 'yes' }) };
  }
  const documents: ParseLocation = { ...inside(location), root: false, element: 'no' };
  return { op: 'elemWhere', filter: readFilter(operand, documents, '$elemMatch') };
}

function requestsValues(operand: unknown): boolean {
  if (!isObject(operand)) return false;
  return Object.entries(operand).some(([name, inner]) =>
    name === '$not' ? requestsValues(inner) : AT_FIELDS.includes(name),
  );
}

function readTest(operator: FilterOperator, operand: unknown, location: ParseLocation): UnboundFieldTest {
  switch (operator) {
    case 'eq':
      return { op: 'in', values: [readValue(operand, location)] };
    case 'ne':
      return { op: 'not', tests: [{ op: 'in', values: [readValue(operand, location)] }] };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { op: operator, value: readBound(operand, location) };
    case 'in':
      return { op: 'in', values: readList(operator, operand, location) };
    case 'nin':
      return { op: 'not', tests: [{ op: 'in', values: readList(operator, operand, location) }] };
    case 'all':
      return { op: 'all', values: readList(operator, operand, location) };
    case 'exists':
      if (typeof operand === 'boolean') return { op: 'exists', exists: operand };
      throw invalidFilter('$exists must be true or false');
    case 'type':
      return { op: 'type', types: readTypes(operand) };
    case 'size':
      if (typeof operand === 'number' && Number.isInteger(operand) && operand >= 0 && operand < 2 ** 31) {
        return { op: 'size', size: operand };
      }
      throw invalidFilter('$size must be a whole number from 0');
    case 'regex':
      return { op: 'regex', pattern: location.read.patterns.check(readString(operator, operand)) };
    case 'contains':
    case 'icontains':
    case 'startsWith':
    case 'endsWith':
    case 'like':
    case 'ilike':
      return { op: 'text', ...TEXT_OPERATORS[operator], text: readOperandText(operator, operand) };
    default:
      return operator satisfies never;
  }
}

function readTypes(operand: unknown): readonly BsonTypeName[] {
  if (!Array.isArray(operand)) return [parseTypeName(operand)];
  if (operand.length === 0) throw invalidFilter('$type must be one or more names of types');
  return requireListLimit(operand, '$type').map(parseTypeName);
}

function readString(operator: FilterOperator, operand: unknown): string {
  if (typeof operand === 'string') return operand;
  throw invalidFilter(`$${operator} must be a string`);
}

function readOperandText(operator: FilterOperator, operand: unknown): string | Variable {
  return requireTextLimit(parseTextOrVariable(readString(operator, operand)), `$${operator}`);
}

/** A list of values. A variable that is a list represents its items, alone or among others. */
function readList(operator: FilterOperator, operand: unknown, location: ParseLocation): readonly UnboundValue[] {
  if (Array.isArray(operand)) {
    checkDepth(inside(location));
    return requireListLimit(operand, `$${operator}`).map((item) => readValue(item, inside(location)));
  }
  const variable = typeof operand === 'string' ? parseTextOrVariable(operand) : null;
  if (variable instanceof Variable) return [variable];
  throw invalidFilter(`$${operator} must be a list`);
}

/** The value of a range. */
function readBound(operand: unknown, location: ParseLocation): UnboundValue {
  const value = readValue(operand, location);
  if (location.element !== 'negated' || !(value instanceof Variable) || value.name !== 'now') return value;
  // `$now` means the date or its text. "Not after both" cannot be expressed for one element in the database's language.
  throw invalidFilter('$now cannot be compared under a $not inside $elemMatch', 'Use the opposite comparison.');
}

function readValue(value: unknown, location: ParseLocation): UnboundValue {
  if (typeof value === 'string') return parseTextOrVariable(value);
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') return readJsonNumber(value);
  checkDepth(location);
  if (Array.isArray(value)) return requireListLimit(value, 'A list').map((item) => readValue(item, inside(location)));
  if (isObject(value)) return readTyped(value) ?? readFields(value, location);
  throw invalidFilter('A value must be JSON');
}

function readJsonNumber(value: number): number {
  // Beyond 2^53 the literal may have been another number; beyond 2^63 it cannot be an integer of the database.
  if (
    Number.isFinite(value) &&
    (!Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) > 2 ** 63)
  ) {
    return value;
  }
  throw invalidFilter(
    `The number ${value} cannot be read exactly from JSON`,
    'The short form field=value can express it.',
  );
}

/** `{"$date": …}` and `{"$oid": …}` name the types that JSON lacks. */
function readTyped(object: JsonObject): UnboundValue | null {
  const [name, ...more] = Object.keys(object);
  if (more.length > 0 || (name !== '$date' && name !== '$oid')) return null;
  const text = object[name];
  if (name === '$oid') {
    if (typeof text === 'string' && /^[0-9a-f]{24}$/i.test(text)) return ObjectId.createFromHexString(text);
    throw invalidFilter('$oid must be 24 hexadecimal digits');
  }
  const date = typeof text === 'string' ? readDate(text) : typeof text === 'number' ? new Date(text) : null;
  if (date !== null && !Number.isNaN(date.getTime())) return date;
  throw invalidFilter('$date must be a time in ISO 8601 or milliseconds since 1970');
}

function readFields(object: JsonObject, location: ParseLocation): UnboundValue {
  const fields: Record<string, UnboundValue> = {};
  for (const [name, property] of requireListLimit(Object.entries(object), 'An object')) {
    if (name.startsWith('$')) throw unknownOperator(name, ['$date', '$oid']);
    if (FORBIDDEN_FIELD_NAMES.includes(name)) throw invalidFilter(`A value cannot have a field '${name}'`);
    if (!name.isWellFormed()) throw invalidFilter('A field name contains half of a surrogate pair');
    if (name.includes('\0')) throw invalidFilter('A field name cannot contain NUL');
    fields[name] = readValue(property, inside(location));
  }
  return fields;
}

/** True for an object of operators: some name starts with `$`, and it is not a typed value. */
function hasOperators(value: unknown): value is JsonObject {
  return isObject(value) && Object.keys(value).some((name) => name.startsWith('$')) && !isTyped(value);
}

const isTyped = (object: JsonObject): boolean => '$date' in object || '$oid' in object;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const inside = (location: ParseLocation): ParseLocation => ({ ...location, depth: location.depth + 1 });

function checkDepth(location: ParseLocation): void {
  if (location.depth > QUERY_LIMITS.depth) throw invalidFilter(`A filter is nested at most ${QUERY_LIMITS.depth} deep`);
}
