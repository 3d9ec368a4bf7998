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
import type { Grant, Scope } from '../../policies/scope.ts';
import { allowing, forbiddenMember, settings, writableBy } from '../../policies/writing.ts';
import { ALL, coversSteps, cutTo, type FieldTree } from '../../query/evaluate/field-tree.ts';
import { pathOf, stepsOf } from '../../query/paths.ts';
import type { DocumentChange, MemberPath } from './change.ts';
import { TypeKeeper } from './kept-types.ts';
import { checkNewMembers, mergeMembers, notWritable, replaceMembers, withKept } from './member-rules.ts';
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
  withOtherMembers,
} from './next-document.ts';

type Given = ReadonlyMap<string, unknown>;

/** A document as a create would store it, before it is judged. */
export interface ProposedCreate {
  /** Members as they were sent, without those that policies set. */
  readonly wanted: JsonObject;
  readonly document: Document;
}

/** A document as a change would leave it, before the new state is judged. */
export interface ProposedChange {
  /** As it is stored, with exact types. */
  readonly old: Document;
  readonly next: Document;
  readonly rights: Rights;
}

/** What a principal may do with a document as it is. */
interface Rights {
  readonly grants: readonly Grant[];
  readonly read: FieldTree;
  readonly write: FieldTree;
  /** Members whose value is set by policies: what the client sends for them is ignored. */
  readonly given: Given;
}

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
  const { wanted, document } = proposedCreate(scope, body, origin, newId);
  judgeCreate(scope, wanted, await grantsInTurns(scope, document));
  return document;
}

/** The same of many, in order. An error says of which one it is. */
export async function permittedCreates(
  scope: Scope<'create'>,
  bodies: readonly JsonObject[],
  origin: WriteOrigin,
  newId: () => ObjectId,
): Promise<readonly Document[]> {
  const documents: Document[] = [];
  for (const [index, body] of bodies.entries()) {
    try {
      documents.push(await permittedCreate(scope, body, origin, newId));
    } catch (error) {
      throw error instanceof MillraceError ? error.at(`/${index}`) : error;
    }
  }
  return documents;
}

/**
 * The first half of {@link permittedCreate}: the document, which nobody has judged.
 * @throws MillraceError `invalid-id`, `unsupported-key`
 */
export function proposedCreate(
  scope: Scope<'create'>,
  body: JsonObject,
  origin: WriteOrigin,
  newId: () => ObjectId,
): ProposedCreate {
  const given = settings(scope.grants);
  const wanted = given.size === 0 ? body : pick(body, (name) => !given.has(name));
  const document = createStored(given.size === 0 ? body : { ...wanted, ...valuesOf(given) }, origin, newId);
  return { wanted, document };
}

/** The proposal as if the client had sent these members; its id and its `_meta` stay. */
export function amendedCreate(
  scope: Scope<'create'>,
  { document }: ProposedCreate,
  members: JsonObject,
): ProposedCreate {
  const given = settings(scope.grants);
  const wanted = pick(storable(members), (name) => !given.has(name));
  return { wanted, document: withOtherMembers(document, { ...wanted, ...valuesOf(given) }) };
}

/**
 * The second half of {@link permittedCreate}.
 * @throws MillraceError `forbidden`, `field-not-writable`
 */
export async function settledCreate(scope: Scope<'create'>, { wanted, document }: ProposedCreate): Promise<Document> {
  judgeCreate(scope, wanted, await grantsInTurns(scope, document));
  return document;
}

function judgeCreate(scope: Scope<'create'>, wanted: JsonObject, grants: readonly Grant[]): void {
  if (grants.length === 0) throw notAllowed(scope);
  checkNewMembers(storable(wanted), writableBy(grants));
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
  const rights = await rightsTo(scope, old);
  const next = computed(change, old, origin, rights);
  judgeChange(scope, { old, next, rights }, await grantsInTurns(scope, next));
  return next;
}

/**
 * The first half of {@link permittedChange}: what the change makes of the document. Whether the old state may be changed,
 * and by these members, is decided; whether the new one is allowed is not.
 * @throws MillraceError as `permittedChange`
 */
export async function proposedChange(
  scope: Scope<'update'>,
  change: DocumentChange,
  old: Document,
  origin: WriteOrigin,
): Promise<ProposedChange> {
  const rights = await rightsTo(scope, old);
  return { old, next: computed(change, old, origin, rights), rights };
}

/**
 * The proposal with these members instead, as if a client that sees the whole document had sent them to replace it. A
 * value keeps the stored type that it has in either state. A member that may not be set stays when it is left out.
 * @throws MillraceError `field-not-writable`, `unsupported-key`
 */
export function amendedChange({ old, next, rights }: ProposedChange, members: JsonObject): ProposedChange {
  const { write, given } = rights;
  const without = (all: JsonObject) => pick(all, (name) => !given.has(name));
  const proposed = visibleMembers(next);
  const rules = { read: ALL, write, strict: false, keeper: new TypeKeeper() };
  const wanted = replaceMembers(without(proposed), without(storable(members)), rules);
  const kept = new TypeKeeper().keepMembers(old, wanted);
  const set = pick(proposed, (name) => given.has(name));
  return { old, next: withOtherMembers(next, withKept(old, kept, set)), rights };
}

/**
 * The second half of {@link permittedChange}.
 * @throws MillraceError `forbidden`, `field-not-writable`
 */
export async function settledChange(scope: Scope<'update'>, proposal: ProposedChange): Promise<Document> {
  judgeChange(scope, proposal, await grantsInTurns(scope, proposal.next));
  return proposal.next;
}

function judgeChange(scope: Scope<'update'>, { old, next, rights }: ProposedChange, after: readonly Grant[]): void {
  const grants = allowing(rights.grants, after);
  if (grants.length === 0) throw notAllowed(scope);
  const forbidden = forbiddenMember(old, next, writableBy(grants), rights.given);
  if (forbidden !== null) throw notWritable(stepsOf(forbidden));
}

async function rightsTo(scope: Scope<'update'>, old: Document): Promise<Rights> {
  const grants = await grantsInTurns(scope, old);
  if (grants.length === 0) throw notAllowed(scope);
  const { reader } = scope;
  const read = (reader === null ? null : await fieldsInTurns(reader, old)) ?? SYSTEM_ONLY;
  return { grants, read, write: writableBy(grants), given: settings(grants) };
}

function computed(change: DocumentChange, old: Document, origin: WriteOrigin, rights: Rights): Document {
  const free = rights.read === ALL && rights.write === ALL && rights.given.size === 0;
  return free ? compute(change, old, origin) : computeWithin(change, old, origin, rights);
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

function computeWithin(
  change: DocumentChange,
  old: Document,
  origin: WriteOrigin,
  { read, write, given }: Rights,
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
        checkNames(change, read, write, given);
        const next = changeMembers(old, { ...cutTo(all, read) }, (shown) => change.apply(shown, origin));
        return replaceMembers(without(all), without(next), rules);
      }
      default:
        return change satisfies never;
    }
  };
  const set = keeper.keepMembers(all, valuesOf(given));
  return withMembers(old, withKept(all, members(), set), origin);
}

/**
 * Every member that a change names must be visible, also one that it only sets; and a member that it sets must be
 * writable.
 */
function checkNames(
  change: Extract<DocumentChange, { kind: 'edit' }>,
  read: FieldTree,
  write: FieldTree,
  given: Given,
): void {
  const own = ([first = '']: MemberPath) => first !== '' && !ANSWER_MEMBERS.has(first);
  for (const steps of change.reads) if (own(steps) && !coversSteps(read, steps)) throw fieldHidden(pathOf(steps));
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
