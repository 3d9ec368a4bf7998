/**
 * Computes the new state of a document from what the principal can read and from the values that policies set, and
 * rejects it where no policy allows all of it. It changes nothing itself. Every document write goes through here.
 */
import type { Document, ObjectId } from 'mongodb';
import { MillraceError } from '../../lib/errors.ts';
import { RESPONSE_FIELDS } from '../../lib/server-fields.ts';
import { SYSTEM_ONLY } from '../../policies/fields/field-rules.ts';
import type { Grant, Scope } from '../../policies/scope.ts';
import { fieldHidden, fieldsInTurns, grantsInTurns } from '../../policies/scope-filter.ts';
import { allowing, forbiddenField, settings, writableBy } from '../../policies/write-grants.ts';
import { ALL, coversSteps, cutTo, type FieldTree } from '../../query/evaluate/field-tree.ts';
import { pathOf, stepsOf } from '../../query/paths.ts';
import { TypeKeeper } from './bson-type-preservation.ts';
import type { DocumentChange, FieldPath } from './change-types.ts';
import { checkNewFields, mergeFields, notWritable, replaceFields, withKept } from './field-rules.ts';
import {
  changeFields,
  changeStored,
  createStored,
  type JsonObject,
  mergeStored,
  pick,
  replaceStored,
  storable,
  visibleFields,
  type WriteOrigin,
  withFields,
  withOtherFields,
} from './next-document.ts';

type Given = ReadonlyMap<string, unknown>;

/** A document as a create would store it, before authorization. */
export interface ProposedCreate {
  /** Fields as sent, without those that policies set. */
  readonly requested: JsonObject;
  readonly document: Document;
}

/** A document as a change would leave it, before the new state is authorized. */
export interface ProposedChange {
  /** As stored, with exact types. */
  readonly old: Document;
  readonly next: Document;
  readonly rights: Rights;
}

/** What a principal may do with a document in its current state. */
interface Rights {
  readonly grants: readonly Grant[];
  readonly read: FieldTree;
  readonly write: FieldTree;
  /** Fields whose value policies set: the value that the client sends for them is ignored. */
  readonly given: Given;
}

/**
 * The document that a create stores.
 * @param newId generates the id when the body has none
 * @throws MillraceError `forbidden`, `field-not-writable`, `invalid-id`, `unsupported-field-name`
 */
export async function permittedCreate(
  scope: Scope<'create'>,
  body: JsonObject,
  origin: WriteOrigin,
  newId: () => ObjectId,
): Promise<Document> {
  const { requested, document } = proposedCreate(scope, body, origin, newId);
  judgeCreate(scope, requested, await grantsInTurns(scope, document));
  return document;
}

/** The same for many, in order. An error includes the index of the failing document. */
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
 * The first half of {@link permittedCreate}: the document before authorization.
 * @throws MillraceError `invalid-id`, `unsupported-field-name`
 */
export function proposedCreate(
  scope: Scope<'create'>,
  body: JsonObject,
  origin: WriteOrigin,
  newId: () => ObjectId,
): ProposedCreate {
  const given = settings(scope.grants);
  const requested = given.size === 0 ? body : pick(body, (name) => !given.has(name));
  const document = createStored(given.size === 0 ? body : { ...requested, ...valuesOf(given) }, origin, newId);
  return { requested, document };
}

/** The proposal as if the client had sent these fields; its id and its `_meta` stay. */
export function amendedCreate(
  scope: Scope<'create'>,
  { document }: ProposedCreate,
  fields: JsonObject,
): ProposedCreate {
  const given = settings(scope.grants);
  const requested = pick(storable(fields), (name) => !given.has(name));
  return { requested, document: withOtherFields(document, { ...requested, ...valuesOf(given) }) };
}

/**
 * The second half of {@link permittedCreate}.
 * @throws MillraceError `forbidden`, `field-not-writable`
 */
export async function settledCreate(
  scope: Scope<'create'>,
  { requested, document }: ProposedCreate,
): Promise<Document> {
  judgeCreate(scope, requested, await grantsInTurns(scope, document));
  return document;
}

function judgeCreate(scope: Scope<'create'>, requested: JsonObject, grants: readonly Grant[]): void {
  if (grants.length === 0) throw notAllowed(scope);
  checkNewFields(storable(requested), writableBy(grants));
}

/**
 * The document after a change.
 * @param old as stored, with exact types
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
 * The first half of {@link permittedChange}: computes the changed document. It checks whether the old state may be
 * changed, and in these fields, but not whether the new state is allowed.
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
 * The proposal with these fields instead, as if a client that sees the whole document had sent them as a replacement. A
 * value keeps the stored type that it has in either state. A field that cannot be set keeps its value when it is left
 * out.
 * @throws MillraceError `field-not-writable`, `unsupported-field-name`
 */
export function amendedChange({ old, next, rights }: ProposedChange, fields: JsonObject): ProposedChange {
  const { write, given } = rights;
  const without = (all: JsonObject) => pick(all, (name) => !given.has(name));
  const proposed = visibleFields(next);
  const rules = { read: ALL, write, strict: false, keeper: new TypeKeeper() };
  const requested = replaceFields(without(proposed), without(storable(fields)), rules);
  const kept = new TypeKeeper().keepFields(old, requested);
  const set = pick(proposed, (name) => given.has(name));
  return { old, next: withOtherFields(next, withKept(old, kept, set)), rights };
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
  const forbidden = forbiddenField(old, next, writableBy(grants), rights.given);
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
  const without = (fields: JsonObject) => pick(fields, (name) => !given.has(name));
  const keeper = new TypeKeeper();
  const [all, rules] = [visibleFields(old), { read, write, strict: change.kind === 'edit', keeper }];
  const properties = () => {
    switch (change.kind) {
      case 'replace':
        return replaceFields(without(all), without(storable(change.body)), rules);
      case 'merge':
        return mergeFields(without(all), without(storable(change.patch)), rules);
      case 'edit': {
        checkNames(change, read, write, given);
        const next = changeFields(old, { ...cutTo(all, read) }, (shown) => change.apply(shown, origin));
        return replaceFields(without(all), without(next), rules);
      }
      default:
        return change satisfies never;
    }
  };
  const set = keeper.keepFields(all, valuesOf(given));
  return withFields(old, withKept(all, properties(), set), origin);
}

/**
 * Every field that a change names must be visible, even one that it only sets; a field that it sets must be writable.
 */
function checkNames(
  change: Extract<DocumentChange, { kind: 'edit' }>,
  read: FieldTree,
  write: FieldTree,
  given: Given,
): void {
  const own = ([first = '']: FieldPath) => first !== '' && !RESPONSE_FIELDS.has(first);
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
