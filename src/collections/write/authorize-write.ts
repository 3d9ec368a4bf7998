/**
 * Computes the new state of a document from what the principal can read and from the values that policies set, and
 * rejects it where no policy allows all of it. It changes nothing itself. Every document write goes through here.
 */
import type { Document, ObjectId } from 'mongodb';
import { MillraceError } from '../../lib/errors.ts';
import { SERVER_RESPONSE_FIELDS } from '../../lib/server-fields.ts';
import { SYSTEM_FIELDS_ONLY } from '../../policies/fields/field-rules.ts';
import type { Grant, Scope } from '../../policies/scope.ts';
import { fieldHidden, grantsForDocumentAsync, visibleFieldTreeAsync } from '../../policies/scope-filter.ts';
import {
  forbiddenField,
  grantsAllowingChange,
  policySetValues,
  writableFieldTree,
} from '../../policies/write-grants.ts';
import { type FieldTree, FULL_FIELD_TREE, selectFields, treeCoversSteps } from '../../query/evaluate/field-tree.ts';
import { joinPath, splitPath } from '../../query/field-paths.ts';
import { BsonTypePreserver } from './bson-type-preservation.ts';
import {
  buildChangedDocument,
  buildMergedDocument,
  buildNewDocument,
  buildReplacedDocument,
  computeChangedFields,
  type JsonObject,
  pickFields,
  replaceFieldsAndMeta,
  replaceFieldsKeepMeta,
  storableFields,
  visibleFields,
  type WriteOrigin,
} from './build-document.ts';
import type { DocumentChange, FieldPath } from './change-types.ts';
import {
  fieldNotWritable,
  mergeFields,
  replaceFields,
  requireWritableFields,
  restoreKeptFields,
} from './field-rules.ts';

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
export async function authorizeCreate(
  scope: Scope<'create'>,
  body: JsonObject,
  origin: WriteOrigin,
  newId: () => ObjectId,
): Promise<Document> {
  const { requested, document } = proposeCreate(scope, body, origin, newId);
  judgeCreate(scope, requested, await grantsForDocumentAsync(scope, document));
  return document;
}

/** The same for many, in order. An error includes the index of the failing document. */
export async function authorizeBulkCreate(
  scope: Scope<'create'>,
  bodies: readonly JsonObject[],
  origin: WriteOrigin,
  newId: () => ObjectId,
): Promise<readonly Document[]> {
  const documents: Document[] = [];
  for (const [index, body] of bodies.entries()) {
    try {
      documents.push(await authorizeCreate(scope, body, origin, newId));
    } catch (error) {
      throw error instanceof MillraceError ? error.at(`/${index}`) : error;
    }
  }
  return documents;
}

/**
 * The first half of {@link authorizeCreate}: the document before authorization.
 * @throws MillraceError `invalid-id`, `unsupported-field-name`
 */
export function proposeCreate(
  scope: Scope<'create'>,
  body: JsonObject,
  origin: WriteOrigin,
  newId: () => ObjectId,
): ProposedCreate {
  const given = policySetValues(scope.grants);
  const requested = given.size === 0 ? body : pickFields(body, (name) => !given.has(name));
  const document = buildNewDocument(given.size === 0 ? body : { ...requested, ...valuesOf(given) }, origin, newId);
  return { requested, document };
}

/** The proposal as if the client had sent these fields; its id and its `_meta` stay. */
export function amendProposedCreate(
  scope: Scope<'create'>,
  { document }: ProposedCreate,
  fields: JsonObject,
): ProposedCreate {
  const given = policySetValues(scope.grants);
  const requested = pickFields(storableFields(fields), (name) => !given.has(name));
  return { requested, document: replaceFieldsKeepMeta(document, { ...requested, ...valuesOf(given) }) };
}

/**
 * The second half of {@link authorizeCreate}.
 * @throws MillraceError `forbidden`, `field-not-writable`
 */
export async function authorizeProposedCreate(
  scope: Scope<'create'>,
  { requested, document }: ProposedCreate,
): Promise<Document> {
  judgeCreate(scope, requested, await grantsForDocumentAsync(scope, document));
  return document;
}

function judgeCreate(scope: Scope<'create'>, requested: JsonObject, grants: readonly Grant[]): void {
  if (grants.length === 0) throw notAllowed(scope);
  requireWritableFields(storableFields(requested), writableFieldTree(grants));
}

/**
 * The document after a change.
 * @param old as stored, with exact types
 * @throws MillraceError `forbidden`, `field-hidden`, `field-not-writable`, and what the change throws
 */
export async function authorizeChange(
  scope: Scope<'update'>,
  change: DocumentChange,
  old: Document,
  origin: WriteOrigin,
): Promise<Document> {
  const rights = await rightsTo(scope, old);
  const next = computed(change, old, origin, rights);
  judgeChange(scope, { old, next, rights }, await grantsForDocumentAsync(scope, next));
  return next;
}

/**
 * The first half of {@link authorizeChange}: computes the changed document. It checks whether the old state may be
 * changed, and in these fields, but not whether the new state is allowed.
 * @throws MillraceError as `permittedChange`
 */
export async function proposeChange(
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
export function amendProposedChange({ old, next, rights }: ProposedChange, fields: JsonObject): ProposedChange {
  const { write, given } = rights;
  const without = (all: JsonObject) => pickFields(all, (name) => !given.has(name));
  const proposed = visibleFields(next);
  const rules = { read: FULL_FIELD_TREE, write, strict: false, keeper: new BsonTypePreserver() };
  const requested = replaceFields(without(proposed), without(storableFields(fields)), rules);
  const kept = new BsonTypePreserver().preserveFields(old, requested);
  const set = pickFields(proposed, (name) => given.has(name));
  return { old, next: replaceFieldsKeepMeta(next, restoreKeptFields(old, kept, set)), rights };
}

/**
 * The second half of {@link authorizeChange}.
 * @throws MillraceError `forbidden`, `field-not-writable`
 */
export async function authorizeProposedChange(scope: Scope<'update'>, proposal: ProposedChange): Promise<Document> {
  judgeChange(scope, proposal, await grantsForDocumentAsync(scope, proposal.next));
  return proposal.next;
}

function judgeChange(scope: Scope<'update'>, { old, next, rights }: ProposedChange, after: readonly Grant[]): void {
  const grants = grantsAllowingChange(rights.grants, after);
  if (grants.length === 0) throw notAllowed(scope);
  const forbidden = forbiddenField(old, next, writableFieldTree(grants), rights.given);
  if (forbidden !== null) throw fieldNotWritable(splitPath(forbidden));
}

async function rightsTo(scope: Scope<'update'>, old: Document): Promise<Rights> {
  const grants = await grantsForDocumentAsync(scope, old);
  if (grants.length === 0) throw notAllowed(scope);
  const { reader } = scope;
  const read = (reader === null ? null : await visibleFieldTreeAsync(reader, old)) ?? SYSTEM_FIELDS_ONLY;
  return { grants, read, write: writableFieldTree(grants), given: policySetValues(grants) };
}

function computed(change: DocumentChange, old: Document, origin: WriteOrigin, rights: Rights): Document {
  const free = rights.read === FULL_FIELD_TREE && rights.write === FULL_FIELD_TREE && rights.given.size === 0;
  return free ? compute(change, old, origin) : computeWithin(change, old, origin, rights);
}

function compute(change: DocumentChange, old: Document, origin: WriteOrigin): Document {
  switch (change.kind) {
    case 'replace':
      return buildReplacedDocument(old, change.body, origin);
    case 'merge':
      return buildMergedDocument(old, change.patch, origin);
    case 'edit':
      return buildChangedDocument(old, (shown) => change.apply(shown, origin), origin);
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
  const without = (fields: JsonObject) => pickFields(fields, (name) => !given.has(name));
  const keeper = new BsonTypePreserver();
  const [all, rules] = [visibleFields(old), { read, write, strict: change.kind === 'edit', keeper }];
  const properties = () => {
    switch (change.kind) {
      case 'replace':
        return replaceFields(without(all), without(storableFields(change.body)), rules);
      case 'merge':
        return mergeFields(without(all), without(storableFields(change.patch)), rules);
      case 'edit': {
        checkNames(change, read, write, given);
        const next = computeChangedFields(old, { ...selectFields(all, read) }, (shown) => change.apply(shown, origin));
        return replaceFields(without(all), without(next), rules);
      }
      default:
        return change satisfies never;
    }
  };
  const set = keeper.preserveFields(all, valuesOf(given));
  return replaceFieldsAndMeta(old, restoreKeptFields(all, properties(), set), origin);
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
  const own = ([first = '']: FieldPath) => first !== '' && !SERVER_RESPONSE_FIELDS.has(first);
  for (const steps of change.reads) if (own(steps) && !treeCoversSteps(read, steps)) throw fieldHidden(joinPath(steps));
  for (const steps of change.writes) {
    if (own(steps) && !given.has(steps[0] ?? '') && !treeCoversSteps(write, steps)) throw fieldNotWritable(steps);
  }
}

function valuesOf(given: Given): JsonObject {
  return Object.fromEntries(given);
}

function notAllowed({ action }: Scope): MillraceError {
  return new MillraceError('forbidden', `No policy allows you to ${action} this document`);
}
