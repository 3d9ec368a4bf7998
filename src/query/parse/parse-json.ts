/**
 * The full form of a filter, a JSON object such as `{"price": {"$lt": 10}, "$or": […]}`, read into the typed tree.
 * Values are never coerced, and an operator that is not named here is refused, so nothing a client writes reaches the
 * database as an operator of its own.
 */
import { ObjectId } from 'bson';
import { REFUSED_NAMES } from '../../kernel/server-members.ts';
import { and, field, not, type OpenFilter, type OpenTest, or, type TypeName, Variable } from '../filter.ts';
import { LIMITS } from '../limits.ts';
import { type OpenValue, readDate } from '../literals.ts';
import {
  bounded,
  boundedText,
  invalidFilter,
  OPERATORS,
  type Operator,
  readOperator,
  readTypeName,
  TEXT_OPERATORS,
  testsAt,
  unknownOperator,
} from '../operators.ts';
import { askedPath, innerPath } from '../paths.ts';
import { Patterns } from '../text/pattern.ts';
import { readText } from '../variables.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const LOGICAL = ['$and', '$or', '$nor', '$not'];
const AT_FIELDS = [...OPERATORS.map((name) => `$${name}`), '$not', '$elemMatch'];

/**
 * The reader's position: how deep, whether in the document itself or in an element of an array, and how much was read.
 */
interface Place {
  readonly depth: number;
  readonly root: boolean;
  /** In `$elemMatch` on values; `negated` once below a `$not` there. */
  readonly element: 'no' | 'yes' | 'negated';
  readonly read: { conditions: number; readonly patterns: Patterns };
}

/**
 * Reads a filter from parsed JSON. Its variables stay open; `bind` fills them.
 * @param patterns the patterns read so far for the same filter
 * @throws MillraceError `invalid-filter`, `unknown-operator`
 */
export function parseFilterJson(value: unknown, patterns = new Patterns()): OpenFilter {
  return readFilter(value, { depth: 1, root: true, element: 'no', read: { conditions: 0, patterns } }, 'A filter');
}

function readFilter(value: unknown, place: Place, what: string): OpenFilter {
  if (!isObject(value)) throw invalidFilter(`${what} must be a JSON object`);
  checkDepth(place);
  const members = bounded(Object.entries(value), what);
  return and(members.map(([name, member]) => readMember(name, member, place)));
}

function readMember(name: string, value: unknown, place: Place): OpenFilter {
  if (!name.startsWith('$')) return readField(name, value, place);
  if (name === '$not') return not(readFilter(value, inside(place), '$not'));
  if (!LOGICAL.includes(name)) throw unknownOperator(name, [...new Set([...LOGICAL, ...AT_FIELDS])]);
  if (!Array.isArray(value) || value.length === 0) throw invalidFilter(`${name} must be a list of one or more filters`);
  const filters = bounded(value, name).map((filter) => readFilter(filter, inside(inside(place)), `An item of ${name}`));
  if (name === '$and') return and(filters);
  return name === '$or' ? or(filters) : not(or(filters));
}

function readField(name: string, value: unknown, place: Place): OpenFilter {
  place.read.conditions += 1;
  if (place.read.conditions > LIMITS.conditions) {
    throw invalidFilter(`A filter has at most ${LIMITS.conditions.toLocaleString('en')} conditions`);
  }
  const tests = hasOperators(value)
    ? readTests(value, inside(place))
    : [{ op: 'in', values: [readValue(value, inside(place))] } as const];
  if (place.root) return testsAt(askedPath(name), tests);
  const path = innerPath(name);
  return and(tests.map((test) => field(path, test)));
}

function readTests(operators: JsonObject, place: Place): readonly OpenTest[] {
  checkDepth(place);
  return Object.entries(operators).flatMap(([name, operand]) => {
    if (name === '$not') return readNot(operand, place);
    if (name === '$elemMatch') return readElement(operand, place);
    if (!name.startsWith('$') || !AT_FIELDS.includes(name)) throw unknownOperator(name, AT_FIELDS);
    return readTest(readOperator(name.slice(1)), operand, place);
  });
}

function readTestsOf(name: string, operand: unknown, place: Place): readonly OpenTest[] {
  if (hasOperators(operand)) return readTests(operand, inside(place));
  throw invalidFilter(`${name} must be an object of operators, such as {"$gt": 5}`);
}

function readNot(operand: unknown, place: Place): OpenTest {
  const element = place.element === 'no' ? 'no' : 'negated';
  return { op: 'not', tests: readTestsOf('$not', operand, { ...place, element }) };
}

/** `{"$elemMatch": {"$gt": 1}}` tests elements as values, `{"$elemMatch": {"a": 1}}` tests them as documents. */
function readElement(operand: unknown, place: Place): OpenTest {
  if (asksValues(operand)) {
    return { op: 'elem', tests: readTestsOf('$elemMatch', operand, { ...place, element: 'yes' }) };
  }
  const documents: Place = { ...inside(place), root: false, element: 'no' };
  return { op: 'elemWhere', filter: readFilter(operand, documents, '$elemMatch') };
}

function asksValues(operand: unknown): boolean {
  if (!isObject(operand)) return false;
  return Object.entries(operand).some(([name, inner]) =>
    name === '$not' ? asksValues(inner) : AT_FIELDS.includes(name),
  );
}

function readTest(operator: Operator, operand: unknown, place: Place): OpenTest {
  switch (operator) {
    case 'eq':
      return { op: 'in', values: [readValue(operand, place)] };
    case 'ne':
      return { op: 'not', tests: [{ op: 'in', values: [readValue(operand, place)] }] };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { op: operator, value: readBound(operand, place) };
    case 'in':
      return { op: 'in', values: readList(operator, operand, place) };
    case 'nin':
      return { op: 'not', tests: [{ op: 'in', values: readList(operator, operand, place) }] };
    case 'all':
      return { op: 'all', values: readList(operator, operand, place) };
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
      return { op: 'regex', pattern: place.read.patterns.check(readString(operator, operand)) };
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

function readTypes(operand: unknown): readonly TypeName[] {
  if (!Array.isArray(operand)) return [readTypeName(operand)];
  if (operand.length === 0) throw invalidFilter('$type must be one or more names of types');
  return bounded(operand, '$type').map(readTypeName);
}

function readString(operator: Operator, operand: unknown): string {
  if (typeof operand === 'string') return operand;
  throw invalidFilter(`$${operator} must be a string`);
}

function readOperandText(operator: Operator, operand: unknown): string | Variable {
  return boundedText(readText(readString(operator, operand)), `$${operator}`);
}

/** A list of values. A variable that is a list stands for its items, alone or among others. */
function readList(operator: Operator, operand: unknown, place: Place): readonly OpenValue[] {
  if (Array.isArray(operand)) {
    checkDepth(inside(place));
    return bounded(operand, `$${operator}`).map((item) => readValue(item, inside(place)));
  }
  const variable = typeof operand === 'string' ? readText(operand) : null;
  if (variable instanceof Variable) return [variable];
  throw invalidFilter(`$${operator} must be a list`);
}

/** The value of a range. */
function readBound(operand: unknown, place: Place): OpenValue {
  const value = readValue(operand, place);
  if (place.element !== 'negated' || !(value instanceof Variable) || value.name !== 'now') return value;
  // `$now` means the date or its text. "Not after both" cannot be asked of one element in the database's language.
  throw invalidFilter('$now cannot be compared under a $not inside $elemMatch', 'Use the opposite comparison.');
}

function readValue(value: unknown, place: Place): OpenValue {
  if (typeof value === 'string') return readText(value);
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') return readJsonNumber(value);
  checkDepth(place);
  if (Array.isArray(value)) return bounded(value, 'A list').map((item) => readValue(item, inside(place)));
  if (isObject(value)) return readTyped(value) ?? readMembers(value, place);
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
  throw invalidFilter(`The number ${value} cannot be read exactly from JSON`, 'The short form field=value reads it.');
}

/** `{"$date": …}` and `{"$oid": …}` name the types that JSON lacks. */
function readTyped(object: JsonObject): OpenValue | null {
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

function readMembers(object: JsonObject, place: Place): OpenValue {
  const members: Record<string, OpenValue> = {};
  for (const [name, member] of bounded(Object.entries(object), 'An object')) {
    if (name.startsWith('$')) throw unknownOperator(name, ['$date', '$oid']);
    if (REFUSED_NAMES.includes(name)) throw invalidFilter(`A value cannot have a member '${name}'`);
    if (!name.isWellFormed()) throw invalidFilter('The name of a member contains half of a surrogate pair');
    if (name.includes('\0')) throw invalidFilter('The name of a member cannot contain NUL');
    members[name] = readValue(member, inside(place));
  }
  return members;
}

/** True for an object of operators: some member starts with `$`, and it is not a typed value. */
function hasOperators(value: unknown): value is JsonObject {
  return isObject(value) && Object.keys(value).some((name) => name.startsWith('$')) && !isTyped(value);
}

const isTyped = (object: JsonObject): boolean => '$date' in object || '$oid' in object;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const inside = (place: Place): Place => ({ ...place, depth: place.depth + 1 });

function checkDepth(place: Place): void {
  if (place.depth > LIMITS.depth) throw invalidFilter(`A filter is nested at most ${LIMITS.depth} deep`);
}
