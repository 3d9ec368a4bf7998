/**
 * Whether a stored value equals a JSON value or is serialized as it. Clients see dates, ids and decimals only as text,
 * so the text matches them.
 */
import { valueToWire } from '../../database/json/wire-values.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { equalValues } from '../../query/evaluate/bson-order.ts';

export interface JsonEqualityOptions {
  /** Whether fields must have the same order, as in MongoDB's equality of documents. */
  readonly ordered: boolean;
}

export function sameJson(stored: unknown, json: unknown, options: JsonEqualityOptions): boolean {
  if (Array.isArray(stored)) {
    if (!Array.isArray(json) || json.length !== stored.length) return false;
    return stored.every((item, index) => sameJson(item, json[index], options));
  }
  if (isPlainObject(stored)) return isPlainObject(json) && sameFields(stored, json, options);
  if (Array.isArray(json) || isPlainObject(json)) return false;
  if (json === null && options.ordered) return stored === null;
  return valueToWire(stored) === json || equalValues(stored, json);
}

function sameFields(
  stored: Record<string, unknown>,
  json: Record<string, unknown>,
  { ordered }: JsonEqualityOptions,
): boolean {
  const names = Object.keys(stored);
  const others = Object.keys(json);
  if (names.length !== others.length) return false;
  return names.every((name, index) => {
    if (ordered ? others[index] !== name : !Object.hasOwn(json, name)) return false;
    return sameJson(stored[name], json[name], { ordered });
  });
}
