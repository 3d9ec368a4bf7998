/**
 * New fields of a document under rules that hide some fields and lock others. A hidden field stays; a locked one stays
 * or its change is rejected. Pure, on stored values. An array whose elements have hidden or locked parts is one value:
 * it stays as it is or the change is rejected, because it is not known which element would keep which part.
 */
import { pointerTo } from '../../database/json/json-errors.ts';
import { MillraceError } from '../../lib/errors.ts';
import { isPlain } from '../../lib/plain-object.ts';
import { isContainer } from '../../policies/write-grants.ts';
import { ALL, childOf, cutValue, type FieldTree, NONE } from '../../query/evaluate/field-tree.ts';
import { withField } from '../../query/paths.ts';
import type { TypeKeeper } from './bson-type-preservation.ts';
import { sameJson } from './json-equality.ts';
import { empty, type JsonObject, mergePatch, pick } from './next-document.ts';

export interface Rules {
  readonly read: FieldTree;
  readonly write: FieldTree;
  /** True if leaving out a visible but locked field is rejected; otherwise that field stays. */
  readonly strict: boolean;
  readonly keeper: TypeKeeper;
}

type Path = readonly string[];

/** The fields when only those of `next` are kept. */
export function replaceFields(old: JsonObject, next: JsonObject, rules: Rules, path: Path = []): JsonObject {
  const [result, kept] = [empty(), empty()];
  for (const [name, value] of Object.entries(next)) {
    result[name] = replaceValue(fieldOf(old, name), value, inside(rules, name), [...path, name]);
  }
  for (const name of Object.keys(old)) {
    if (Object.hasOwn(next, name)) continue;
    const rest = leaveOut(old[name], inside(rules, name), [...path, name]);
    if (rest !== undefined) kept[name] = rest;
  }
  return withKept(old, result, kept);
}

/**
 * The new fields, with those that the request left out. A kept field stays before the fields that it preceded, so a
 * document that is sent back as it was read keeps its order.
 */
export function withKept(old: JsonObject, next: JsonObject, kept: JsonObject): JsonObject {
  const names = Object.keys(kept);
  if (names.length === 0) return next;
  const waiting = Object.keys(old).filter((name) => Object.hasOwn(kept, name));
  const indexes = new Map(Object.keys(old).map((name, index) => [name, index]));
  const result = empty();
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
export function mergeFields(old: JsonObject, patch: JsonObject, rules: Rules, path: Path = []): JsonObject {
  const result = pick(old, () => true);
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
export function checkNewFields(fields: JsonObject, write: FieldTree, path: Path = []): void {
  if (write === ALL) return;
  for (const [name, value] of Object.entries(fields)) {
    const rule = childOf(write, name);
    if (rule === ALL || (rule.rest && !isContainer(value))) continue;
    if (rule === NONE || !isPlain(value)) throw notWritable([...path, name]);
    checkNewFields(value, rule, [...path, name]);
  }
}

export function notWritable(path: Path): MillraceError {
  const detail = `The field '${path.reduce(withField, '').slice(0, 200)}' must not be set`;
  return new MillraceError('field-not-writable', detail, {
    hint: 'Leave it out, or send it as it was read',
    issues: [{ pointer: pointerTo(path), code: 'field-not-writable', detail }],
  });
}

/** The value after a request sends `next` for it. */
function replaceValue(old: unknown, next: unknown, rules: Rules, path: Path): unknown {
  if (isFree(rules)) return rules.keeper.keep(old, next);
  const { read, write } = rules;
  const seen = old === undefined ? undefined : cutValue(old, read);
  if (seen !== undefined && sameJson(seen, next, { ordered: false })) return old;
  if (write === NONE) throw notWritable(path);
  if (isPlain(next) && (old === undefined || isPlain(old))) return replaceFields(old ?? {}, next, rules, path);
  if (isContainer(old)) throw notWritable(path);
  if (write === ALL || (write.rest && !isContainer(next))) return rules.keeper.keep(old, next);
  throw notWritable(path);
}

/** The value when the request leaves it out; undefined when it is removed. */
function leaveOut(old: unknown, rules: Rules, path: Path): unknown {
  const { read, write, strict } = rules;
  if (read === ALL && write === ALL) return undefined;
  if (read === NONE || cutValue(old, read) === undefined) return old;
  if (write !== NONE && isPlain(old)) {
    const left = replaceFields(old, {}, rules, path);
    return Object.keys(left).length === 0 ? undefined : left;
  }
  if (!isContainer(old) && write.rest) return undefined;
  if (strict) throw notWritable(path);
  return old;
}

function mergeValue(old: unknown, value: unknown, rules: Rules, path: Path): unknown {
  if (rules.write === NONE) throw notWritable(path);
  if (value === null) return isFree(rules) ? undefined : leaveOut(old, { ...rules, strict: true }, path);
  if (!isPlain(value)) return replaceValue(old, value, rules, path);
  if (isFree(rules)) return mergePatch(isPlain(old) ? old : {}, value, rules.keeper);
  if (isContainer(old) && !isPlain(old)) throw notWritable(path);
  if (old !== undefined && !isPlain(old) && !rules.write.rest) throw notWritable(path);
  return mergeFields(isPlain(old) ? old : {}, value, rules, path);
}

/** True if a value can be set as a whole: it contains nothing hidden or locked. */
function isFree({ read, write }: Rules): boolean {
  return write === ALL && (read === ALL || read === NONE);
}

function inside(rules: Rules, name: string): Rules {
  return { ...rules, read: childOf(rules.read, name), write: childOf(rules.write, name) };
}

function fieldOf(fields: JsonObject, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}
