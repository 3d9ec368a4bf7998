/**
 * The order of documents in a live query, from the sort keys that the server sends with them. Numbers compare by value, texts by
 * code point as in the database, and different types in the order null, number, string, object, array, boolean. The server's own
 * comparison is src/query/evaluate/bson-order.ts; the client must work without it.
 */

/** One value for each key of the sort, followed by the id. */
export type SortKey = readonly unknown[];

const KINDS = ['null', 'number', 'string', 'object', 'array', 'boolean'];

/**
 * @param sort as in a query: `-points,name`
 * @returns compares two sort keys: below 0 when the first comes first
 */
export function sortKeyComparator(sort: string): (one: SortKey, other: SortKey) => number {
  const directions = sort.split(',').map((key) => (key.trim().startsWith('-') ? -1 : 1));
  return (one, other) => {
    for (let at = 0; at < Math.max(one.length, other.length); at++) {
      const order = compare(one[at], other[at]);
      if (order !== 0) return order * (directions[at] ?? 1);
    }
    return 0;
  };
}

function compare(one: unknown, other: unknown): number {
  const byKind = KINDS.indexOf(kindOf(one)) - KINDS.indexOf(kindOf(other));
  if (byKind !== 0) return byKind;
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (typeof one === 'boolean' && typeof other === 'boolean') return Number(one) - Number(other);
  if (typeof one === 'string' && typeof other === 'string') return compareTexts(one, other);
  if (Array.isArray(one) && Array.isArray(other)) return compareLists(one, other);
  if (isObject(one) && isObject(other)) return compareLists(steps(one), steps(other));
  return 0;
}

function compareLists(one: readonly unknown[], other: readonly unknown[]): number {
  for (let at = 0; at < Math.min(one.length, other.length); at++) {
    const order = compare(one[at], other[at]);
    if (order !== 0) return order;
  }
  return one.length - other.length;
}

/** An object as the database compares it, field by field: the type of the value, then the name, then the value. */
function steps(fields: Readonly<Record<string, unknown>>): unknown[] {
  return Object.entries(fields).flatMap(([name, value]) => [KINDS.indexOf(kindOf(value)), name, value]);
}

/** JavaScript compares UTF-16 units, which would put characters above U+FFFF before U+E000. */
function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const order = unit(one, at) - unit(other, at);
    if (order !== 0) return order;
  }
  return one.length - other.length;
}

function unit(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code < 0xe000 ? code + 0x10000 : code;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
