/**
 * What a Scope allows to write: which grants allow a change, the values that policies set, and the fields that may be
 * set. Pure, on stored values.
 */
import type { Document } from 'mongodb';
import { isPlainObject } from '../lib/plain-object.ts';
import { SERVER_FIELDS } from '../lib/server-fields.ts';
import { equalValues } from '../query/evaluate/bson-order.ts';
import { childFieldTree, type FieldTree, FULL_FIELD_TREE, unionFieldTrees } from '../query/evaluate/field-tree.ts';
import { joinPath } from '../query/field-paths.ts';
import type { BsonValue } from '../query/filter.ts';
import type { Grant } from './scope.ts';

/** The values that the grants set. If two set the same field, the first one counts. */
export function valuesSetByPolicies(grants: readonly Grant[]): ReadonlyMap<string, BsonValue> {
  const [first, second] = grants;
  if (first === undefined || second === undefined) return first?.set ?? new Map();
  const values = new Map<string, BsonValue>();
  for (const { set } of grants) for (const [name, value] of set) if (!values.has(name)) values.set(name, value);
  return values;
}

/**
 * The grants that allow a change: those that reach the document in its old and in its new state.
 * @param before the grants for the old state; null when the document is created
 * @param after those for the new state
 */
export function grantsAllowingChange(before: readonly Grant[] | null, after: readonly Grant[]): readonly Grant[] {
  return before === null ? after : after.filter((grant) => before.includes(grant));
}

/** Fields that may be set: those that at least one grant allows. */
export function writableFieldTree(grants: readonly Grant[]): FieldTree {
  return unionFieldTrees(grants.map(({ write }) => write));
}

/**
 * The first field whose value a change alters although it must not be set, as a dotted path; null when there is none.
 * @param set fields whose value is set by policies
 */
export function findForbiddenField(
  before: Document,
  after: Document,
  write: FieldTree,
  set: ReadonlyMap<string, unknown>,
): string | null {
  if (write === FULL_FIELD_TREE) return null;
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (SERVER_FIELDS.has(name) || set.has(name)) continue;
    const found = forbiddenIn(
      fieldOf(before, name),
      fieldOf(after, name),
      childFieldTree(write, name),
      joinPath([name]),
    );
    if (found !== null) return found;
  }
  return null;
}

function forbiddenIn(before: unknown, after: unknown, write: FieldTree, path: string): string | null {
  if (write === FULL_FIELD_TREE || before === after) return null;
  if (before !== undefined && after !== undefined && equalValues(before, after)) return null;
  // An object may be added, removed and changed as far as its fields may. Other values can only be set as a whole.
  const [old, next] = [before ?? {}, after ?? {}];
  if (write.fields.size > 0 && isPlainObject(old) && isPlainObject(next)) {
    for (const name of new Set([...Object.keys(old), ...Object.keys(next)])) {
      const found = forbiddenIn(
        fieldOf(old, name),
        fieldOf(next, name),
        childFieldTree(write, name),
        `${path}.${joinPath([name])}`,
      );
      if (found !== null) return found;
    }
    return null;
  }
  const simple = !isContainer(before) && !isContainer(after);
  return write.rest && simple ? null : path;
}

/** Whether a value can have fields. */
export const isContainer = (value: unknown): boolean => Array.isArray(value) || isPlainObject(value);

function fieldOf(document: Document, name: string): unknown {
  return Object.hasOwn(document, name) ? document[name] : undefined;
}
