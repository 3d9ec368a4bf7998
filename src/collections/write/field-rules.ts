/**
 * New fields of a document under rules that hide some fields and lock others. A hidden field stays; a locked one stays
 * or its change is rejected. Pure, on stored values. An array whose elements have hidden or locked parts is one value:
 * it stays as it is or the change is rejected, because it is not known which element would keep which part.
 */
import { jsonPointer } from '../../database/json/json-errors.ts';
import { MillraceError } from '../../lib/errors.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { isContainer } from '../../policies/write-grants.ts';
import {
  childFieldTree,
  EMPTY_FIELD_TREE,
  type FieldTree,
  FULL_FIELD_TREE,
  keepSelectedFields,
} from '../../query/evaluate/field-tree.ts';
import { appendPathField } from '../../query/field-paths.ts';
import type { BsonTypePreserver } from './bson-type-preservation.ts';
import { createEmptyObject, type JsonObject, mergePatch, pickFields } from './build-document.ts';
import { sameJson } from './json-equality.ts';

export interface FieldRules {
  readonly read: FieldTree;
  readonly write: FieldTree;
  /** True if leaving out a visible but locked field is rejected; otherwise that field stays. */
  readonly strict: boolean;
  readonly keeper: BsonTypePreserver;
}

type Path = readonly string[];

/** The fields when only those of `next` are kept. */
export function replacePermittedFields(
  old: JsonObject,
  next: JsonObject,
  rules: FieldRules,
  path: Path = [],
): JsonObject {
  const [result, kept] = [createEmptyObject(), createEmptyObject()];
  for (const [name, value] of Object.entries(next)) {
    result[name] = replaceValue(fieldOf(old, name), value, inside(rules, name), [...path, name]);
  }
  for (const name of Object.keys(old)) {
    if (Object.hasOwn(next, name)) continue;
    const rest = leaveOut(old[name], inside(rules, name), [...path, name]);
    if (rest !== undefined) kept[name] = rest;
  }
  return restoreKeptFields(old, result, kept);
}

/**
 * The new fields, with those that the request left out. A kept field stays before the fields that it preceded, so a
 * document that is sent back as it was read keeps its order.
 */
export function restoreKeptFields(old: JsonObject, next: JsonObject, kept: JsonObject): JsonObject {
  const names = Object.keys(kept);
  if (names.length === 0) return next;
  const waiting = Object.keys(old).filter((name) => Object.hasOwn(kept, name));
  const indexes = new Map(Object.keys(old).map((name, index) => [name, index]));
  const result = createEmptyObject();
  let first = 0;
  for (const name of Object.keys(next)) {
    const index = indexes.get(name) ?? -1;
    for (let one = waiting[first]; one !== undefined && (indexes.get(one) ?? 0) < index; one = waiting[++first]) {
      result[one] = kept[one];
    }
    result[name] = next[name];
  }
  for (const name of [...waiting.slice(first), ...names]) result[name] = kept[name];
  return result;
}

/** The fields after a merge patch (RFC 7396): naming one that cannot be set is rejected, whatever its value. */
export function mergePermittedFields(
  old: JsonObject,
  patch: JsonObject,
  rules: FieldRules,
  path: Path = [],
): JsonObject {
  const result = pickFields(old, () => true);
  for (const [name, value] of Object.entries(patch)) {
    const merged = mergeValue(fieldOf(old, name), value, inside(rules, name), [...path, name]);
    if (merged === undefined) delete result[name];
    else result[name] = merged;
  }
  return result;
}

/**
 * Checks that a new document has only fields that the principal may set.
 * @throws MillraceError `field-not-writable`
 */
export function requireWritableFields(fields: JsonObject, write: FieldTree, path: Path = []): void {
  if (write === FULL_FIELD_TREE) return;
  for (const [name, value] of Object.entries(fields)) {
    const rule = childFieldTree(write, name);
    if (rule === FULL_FIELD_TREE || (rule.rest && !isContainer(value))) continue;
    if (rule === EMPTY_FIELD_TREE || !isPlainObject(value)) throw fieldNotWritable([...path, name]);
    requireWritableFields(value, rule, [...path, name]);
  }
}

export function fieldNotWritable(path: Path): MillraceError {
  const detail = `The field '${path.reduce(appendPathField, '').slice(0, 200)}' must not be set`;
  return new MillraceError('field-not-writable', detail, {
    hint: 'Leave it out, or send it as it was read',
    issues: [{ pointer: jsonPointer(path), code: 'field-not-writable', detail }],
  });
}

/** The value after a request sends `next` for it. */
function replaceValue(old: unknown, next: unknown, rules: FieldRules, path: Path): unknown {
  if (isFree(rules)) return rules.keeper.preserve(old, next);
  const { read, write } = rules;
  const seen = old === undefined ? undefined : keepSelectedFields(old, read);
  if (seen !== undefined && sameJson(seen, next, { ordered: false })) return old;
  if (write === EMPTY_FIELD_TREE) throw fieldNotWritable(path);
  if (isPlainObject(next) && (old === undefined || isPlainObject(old)))
    return replacePermittedFields(old ?? {}, next, rules, path);
  if (isContainer(old)) throw fieldNotWritable(path);
  if (write === FULL_FIELD_TREE || (write.rest && !isContainer(next))) return rules.keeper.preserve(old, next);
  throw fieldNotWritable(path);
}

/** The value when the request leaves it out; undefined when it is removed. */
function leaveOut(old: unknown, rules: FieldRules, path: Path): unknown {
  const { read, write, strict } = rules;
  if (read === FULL_FIELD_TREE && write === FULL_FIELD_TREE) return undefined;
  if (read === EMPTY_FIELD_TREE || keepSelectedFields(old, read) === undefined) return old;
  if (write !== EMPTY_FIELD_TREE && isPlainObject(old)) {
    const left = replacePermittedFields(old, {}, rules, path);
    return Object.keys(left).length === 0 ? undefined : left;
  }
  if (!isContainer(old) && write.rest) return undefined;
  if (strict) throw fieldNotWritable(path);
  return old;
}

function mergeValue(old: unknown, value: unknown, rules: FieldRules, path: Path): unknown {
  if (rules.write === EMPTY_FIELD_TREE) throw fieldNotWritable(path);
  if (value === null) return isFree(rules) ? undefined : leaveOut(old, { ...rules, strict: true }, path);
  if (!isPlainObject(value)) return replaceValue(old, value, rules, path);
  if (isFree(rules)) return mergePatch(isPlainObject(old) ? old : {}, value, rules.keeper);
  if (isContainer(old) && !isPlainObject(old)) throw fieldNotWritable(path);
  if (old !== undefined && !isPlainObject(old) && !rules.write.rest) throw fieldNotWritable(path);
  return mergePermittedFields(isPlainObject(old) ? old : {}, value, rules, path);
}

/** True if a value can be set as a whole: it contains nothing hidden or locked. */
function isFree({ read, write }: FieldRules): boolean {
  return write === FULL_FIELD_TREE && (read === FULL_FIELD_TREE || read === EMPTY_FIELD_TREE);
}

function inside(rules: FieldRules, name: string): FieldRules {
  return { ...rules, read: childFieldTree(rules.read, name), write: childFieldTree(rules.write, name) };
}

function fieldOf(fields: JsonObject, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}
