/**
 * New members of a document under rules that hide some members and lock others. A hidden member stays; a locked one
 * stays or its change is refused. Pure, on stored values. An array whose elements have hidden or locked parts is one
 * value: it stays as it is or the change is refused, because it is not known which element would keep which part. Not
 * here: where the rules come from (permitted-change.ts).
 */
import { pointerTo } from '../../database/json/json-faults.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { isPlain } from '../../kernel/objects.ts';
import { isContainer } from '../../policies/writing.ts';
import { ALL, childOf, cutValue, type FieldTree, NONE } from '../../query/evaluate/field-tree.ts';
import { withMember } from '../../query/paths.ts';
import type { TypeKeeper } from './kept-types.ts';
import { empty, type JsonObject, mergePatch, pick } from './next-document.ts';
import { sameJson } from './same-json.ts';

export interface Rules {
  readonly read: FieldTree;
  readonly write: FieldTree;
  /** True if it is refused to leave out a member that is visible but locked; otherwise that member stays. */
  readonly strict: boolean;
  readonly keeper: TypeKeeper;
}

type Path = readonly string[];

/** The members when only those of `next` are wanted. */
export function replaceMembers(old: JsonObject, next: JsonObject, rules: Rules, path: Path = []): JsonObject {
  const [result, kept] = [empty(), empty()];
  for (const [name, value] of Object.entries(next)) {
    result[name] = replaceValue(memberOf(old, name), value, inside(rules, name), [...path, name]);
  }
  for (const name of Object.keys(old)) {
    if (Object.hasOwn(next, name)) continue;
    const rest = leaveOut(old[name], inside(rules, name), [...path, name]);
    if (rest !== undefined) kept[name] = rest;
  }
  return withKept(old, result, kept);
}

/**
 * The new members with those that nobody sent. A kept member stays before the members that it stood before, so a
 * document that comes back as its reader saw it has its old order.
 */
export function withKept(old: JsonObject, next: JsonObject, kept: JsonObject): JsonObject {
  const names = Object.keys(kept);
  if (names.length === 0) return next;
  const waiting = Object.keys(old).filter((name) => Object.hasOwn(kept, name));
  const places = new Map(Object.keys(old).map((name, place) => [name, place]));
  const result = empty();
  let first = 0;
  for (const name of Object.keys(next)) {
    const place = places.get(name) ?? -1;
    for (let one = waiting[first]; one !== undefined && (places.get(one) ?? 0) < place; one = waiting[++first]) {
      result[one] = kept[one];
    }
    result[name] = next[name];
  }
  for (const name of [...waiting.slice(first), ...names]) result[name] = kept[name];
  return result;
}

/** The members after a merge patch (RFC 7396): naming one that may not be set is refused, whatever its value. */
export function mergeMembers(old: JsonObject, patch: JsonObject, rules: Rules, path: Path = []): JsonObject {
  const result = pick(old, () => true);
  for (const [name, value] of Object.entries(patch)) {
    const merged = mergeValue(memberOf(old, name), value, inside(rules, name), [...path, name]);
    if (merged === undefined) delete result[name];
    else result[name] = merged;
  }
  return result;
}

/**
 * Checks that a new document has only members that may be set.
 * @throws MillraceError `field-not-writable`
 */
export function checkNewMembers(members: JsonObject, write: FieldTree, path: Path = []): void {
  if (write === ALL) return;
  for (const [name, value] of Object.entries(members)) {
    const rule = childOf(write, name);
    if (rule === ALL || (rule.rest && !isContainer(value))) continue;
    if (rule === NONE || !isPlain(value)) throw notWritable([...path, name]);
    checkNewMembers(value, rule, [...path, name]);
  }
}

export function notWritable(path: Path): MillraceError {
  const detail = `The member '${path.reduce(withMember, '').slice(0, 200)}' may not be set`;
  return new MillraceError('field-not-writable', detail, {
    hint: 'Leave it out, or send it as it was read',
    faults: [{ pointer: pointerTo(path), code: 'field-not-writable', detail }],
  });
}

/** The value after `next` was sent for it. */
function replaceValue(old: unknown, next: unknown, rules: Rules, path: Path): unknown {
  if (isFree(rules)) return rules.keeper.keep(old, next);
  const { read, write } = rules;
  const seen = old === undefined ? undefined : cutValue(old, read);
  if (seen !== undefined && sameJson(seen, next, { ordered: false })) return old;
  if (write === NONE) throw notWritable(path);
  if (isPlain(next) && (old === undefined || isPlain(old))) return replaceMembers(old ?? {}, next, rules, path);
  if (isContainer(old)) throw notWritable(path);
  if (write === ALL || (write.rest && !isContainer(next))) return rules.keeper.keep(old, next);
  throw notWritable(path);
}

/** The value when nothing was sent for it; undefined when it is gone. */
function leaveOut(old: unknown, rules: Rules, path: Path): unknown {
  const { read, write, strict } = rules;
  if (read === ALL && write === ALL) return undefined;
  if (read === NONE || cutValue(old, read) === undefined) return old;
  if (write !== NONE && isPlain(old)) {
    const left = replaceMembers(old, {}, rules, path);
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
  return mergeMembers(isPlain(old) ? old : {}, value, rules, path);
}

/** True if a value may be set as a whole: nothing in it is hidden or locked, so nothing in it has to stay. */
function isFree({ read, write }: Rules): boolean {
  return write === ALL && (read === ALL || read === NONE);
}

function inside(rules: Rules, name: string): Rules {
  return { ...rules, read: childOf(rules.read, name), write: childOf(rules.write, name) };
}

function memberOf(members: JsonObject, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}
