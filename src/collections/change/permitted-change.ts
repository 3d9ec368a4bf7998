/**
 * What a principal's change makes of a document. The new state is computed from what the principal may see and from the
 * values that policies set, and it is refused where no policy allows all of it. It changes nothing. Every write of documents goes
 * through here. Not here: single members (member-rules.ts) and what a Scope is (policies/).
 */
import type { Document, ObjectId } from 'mongodb';
import { MillraceError } from '../../kernel/errors.ts';
import { ANSWER_MEMBERS } from '../../kernel/server-members.ts';
import { SYSTEM_ONLY } from '../../policies/fields/field-rules.ts';
import { fieldHidden, fieldsInTurns, grantsInTurns } from '../../policies/reach.ts';
import type { Scope } from '../../policies/scope.ts';
import { allowing, forbiddenMember, settings, writableBy } from '../../policies/writing.ts';
import { ALL, coversSteps, cutTo, type FieldTree } from '../../query/evaluate/field-tree.ts';
import type { DocumentChange, MemberPath } from './change.ts';
import { TypeKeeper } from './kept-types.ts';
import { checkNewMembers, mergeMembers, notWritable, replaceMembers } from './member-rules.ts';
import {
  changeMembers,
  changeStored,
  createStored,
  type JsonObject,
  mergeStored,
  pick,
  replaceStored,
  storable,
  visibleMembers,
  type WriteOrigin,
  withMembers,
} from './next-document.ts';

type Given = ReadonlyMap<string, unknown>;

/**
 * The document that a create stores.
 * @param newId makes the id when the body brings none
 * @throws MillraceError `forbidden`, `field-not-writable`, `invalid-id`, `unsupported-key`
 */
export async function permittedCreate(
  scope: Scope<'create'>,
  body: JsonObject,
  origin: WriteOrigin,
  newId: () => ObjectId,
): Promise<Document> {
  const given = settings(scope.grants);
  const wanted = given.size === 0 ? body : pick(body, (name) => !given.has(name));
  const document = createStored(given.size === 0 ? body : { ...wanted, ...valuesOf(given) }, origin, newId);
  const grants = await grantsInTurns(scope, document);
  if (grants.length === 0) throw notAllowed(scope);
  checkNewMembers(storable(wanted), writableBy(grants));
  return document;
}

/**
 * The document after a change.
 * @param old as it is stored, with exact types
 * @throws MillraceError `forbidden`, `field-hidden`, `field-not-writable`, and what the change throws
 */
export async function permittedChange(
  scope: Scope<'update'>,
  change: DocumentChange,
  old: Document,
  origin: WriteOrigin,
): Promise<Document> {
  const before = await grantsInTurns(scope, old);
  if (before.length === 0) throw notAllowed(scope);
  const read = await seenOf(scope, old);
  const write = writableBy(before);
  const given = settings(before);
  const free = read === ALL && write === ALL && given.size === 0;
  const next = free ? compute(change, old, origin) : computeWithin(change, old, origin, { read, write, given });
  const grants = allowing(before, await grantsInTurns(scope, next));
  if (grants.length === 0) throw notAllowed(scope);
  const forbidden = forbiddenMember(old, next, writableBy(grants), given);
  if (forbidden !== null) throw notWritable(forbidden.split('.'));
  return next;
}

/** What the principal may see of a document that it writes to. */
async function seenOf({ reader }: Scope, document: Document): Promise<FieldTree> {
  return (reader === null ? null : await fieldsInTurns(reader, document)) ?? SYSTEM_ONLY;
}

function compute(change: DocumentChange, old: Document, origin: WriteOrigin): Document {
  switch (change.kind) {
    case 'replace':
      return replaceStored(old, change.body, origin);
    case 'merge':
      return mergeStored(old, change.patch, origin);
    case 'edit':
      return changeStored(old, (shown) => change.apply(shown, origin), origin);
    default:
      return change satisfies never;
  }
}

interface Bounds {
  readonly read: FieldTree;
  readonly write: FieldTree;
  /** Members whose value is set by policies: what the client sends for them is ignored. */
  readonly given: Given;
}

function computeWithin(
  change: DocumentChange,
  old: Document,
  origin: WriteOrigin,
  { read, write, given }: Bounds,
): Document {
  const without = (members: JsonObject) => pick(members, (name) => !given.has(name));
  const keeper = new TypeKeeper();
  const [all, rules] = [visibleMembers(old), { read, write, strict: change.kind === 'edit', keeper }];
  const members = () => {
    switch (change.kind) {
      case 'replace':
        return replaceMembers(without(all), without(storable(change.body)), rules);
      case 'merge':
        return mergeMembers(without(all), without(storable(change.patch)), rules);
      case 'edit': {
        checkNames(change, { read, write, given });
        const next = changeMembers(old, { ...cutTo(all, read) }, (shown) => change.apply(shown, origin));
        return replaceMembers(without(all), without(next), rules);
      }
      default:
        return change satisfies never;
    }
  };
  const next = members();
  for (const [name, value] of given) next[name] = keeper.keep(all[name], value);
  return withMembers(old, next, origin);
}

/**
 * Every member that a change names must be visible, also one that it only sets; and a member that it sets must be
 * writable.
 */
function checkNames(change: Extract<DocumentChange, { kind: 'edit' }>, { read, write, given }: Bounds): void {
  const own = ([first = '']: MemberPath) => first !== '' && !ANSWER_MEMBERS.has(first);
  for (const steps of change.reads) if (own(steps) && !coversSteps(read, steps)) throw fieldHidden(steps.join('.'));
  for (const steps of change.writes) {
    if (own(steps) && !given.has(steps[0] ?? '') && !coversSteps(write, steps)) throw notWritable(steps);
  }
}

function valuesOf(given: Given): JsonObject {
  return Object.fromEntries(given);
}

function notAllowed({ action }: Scope): MillraceError {
  return new MillraceError('forbidden', `No policy allows you to ${action} this document`);
}
