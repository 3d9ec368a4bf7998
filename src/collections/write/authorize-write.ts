/**
 * Proposes the new state of a document from what the principal can read and from the values that policies set, and
 * rejects it where no policy allows all of it. It changes nothing itself. write-pipeline.ts runs it for every write.
 */
import type { Document, ObjectId } from 'mongodb';
import { MillraceError } from '../../lib/errors.ts';
import { SERVER_RESPONSE_FIELDS } from '../../lib/server-fields.ts';
import { SYSTEM_FIELDS_ONLY } from '../../policies/fields/field-rules.ts';
import type { Grant, Scope } from '../../policies/scope.ts';
import { fieldHidden, grantsForDocumentAsync, visibleFieldTreeAsync } from '../../policies/scope-filter.ts';
import {
  findForbiddenField,
  grantsAllowingChange,
  valuesSetByPolicies,
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
  computeFieldsAfterChange,
  type JsonObject,
  pickFields,
  replaceFieldsAndMeta,
  replaceFieldsKeepMeta,
  storableFields,
  type WriteAttribution,
  withoutServerFields,
} from './build-document.ts';
import {
  fieldNotWritable,
  mergePermittedFields,
  replacePermittedFields,
  requireWritableFields,
  restoreKeptFields,
} from './field-rules.ts';
import type { FieldPath, RequestedChange } from './requested-change.ts';

type Given = ReadonlyMap<string, unknown>;

/** A write as it would be stored, before its result is authorized. */
export interface ProposedWrite {
  /** The stored document with exact types; null for a creation. */
  readonly old: Document | null;
  readonly next: Document;
  /** Fields as sent for a creation, without those that policies set. */
  readonly requested: JsonObject;
  readonly rights: Rights;
}

/** What a principal may do with a document in its current state. */
interface Rights {
  /** The grants for the stored document; null for a creation. */
  readonly grants: readonly Grant[] | null;
  readonly read: FieldTree;
  readonly write: FieldTree;
  /** Fields whose value policies set: the value that the client sends for them is ignored. */
  readonly given: Given;
}

/**
 * The document that a create would store.
 * @param newId generates the id when the body has none
 * @throws MillraceError `invalid-id`, `unsupported-field-name`
 */
export function proposeCreate(
  scope: Scope<'create'>,
  body: JsonObject,
  origin: WriteAttribution,
  newId: () => ObjectId,
): ProposedWrite {
  const given = valuesSetByPolicies(scope.grants);
  const requested = given.size === 0 ? body : pickFields(body, (name) => !given.has(name));
  const next = buildNewDocument(given.size === 0 ? body : { ...requested, ...valuesOf(given) }, origin, newId);
  return { old: null, next, requested, rights: { grants: null, read: FULL_FIELD_TREE, write: FULL_FIELD_TREE, given } };
}

/**
 * The document as a change would leave it. Checks whether the old state may be changed, and in these fields.
 * @param old as stored, with exact types
 * @throws MillraceError `forbidden`, `field-hidden`, `field-not-writable`, and what the change throws
 */
export async function proposeUpdate(
  scope: Scope<'update'>,
  change: RequestedChange,
  old: Document,
  origin: WriteAttribution,
): Promise<ProposedWrite> {
  const grants = await grantsForDocumentAsync(scope, old);
  if (grants.length === 0) throw notAllowed(scope);
  const { reader } = scope;
  const read = (reader === null ? null : await visibleFieldTreeAsync(reader, old)) ?? SYSTEM_FIELDS_ONLY;
  const rights = { grants, read, write: writableFieldTree(grants), given: valuesSetByPolicies(grants) };
  return { old, next: computed(change, old, origin, rights), requested: {}, rights };
}

/**
 * The proposal with these fields instead, as if the client had sent them: in a creation for all but id and `_meta`, in
 * an update as a replacement by a client that sees the whole document. A value keeps the stored type that it has in
 * either state. A field of an update that cannot be set keeps its value when it is left out.
 * @throws MillraceError `field-not-writable`, `unsupported-field-name`
 */
export function amendProposedWrite({ old, next, rights }: ProposedWrite, fields: JsonObject): ProposedWrite {
  const { write, given } = rights;
  const without = (all: JsonObject) => pickFields(all, (name) => !given.has(name));
  const sent = without(storableFields(fields));
  if (old === null) {
    return { old, next: replaceFieldsKeepMeta(next, { ...sent, ...valuesOf(given) }), requested: sent, rights };
  }
  const proposed = withoutServerFields(next);
  const rules = { read: FULL_FIELD_TREE, write, strict: false, keeper: new BsonTypePreserver() };
  const requested = replacePermittedFields(without(proposed), sent, rules);
  const kept = new BsonTypePreserver().preserveFields(old, requested);
  const set = pickFields(proposed, (name) => given.has(name));
  return { old, next: replaceFieldsKeepMeta(next, restoreKeptFields(old, kept, set)), requested, rights };
}

/**
 * Checks that the policies allow the result of a write.
 * @throws MillraceError `forbidden`, `field-not-writable`
 */
export async function authorizeWrite(
  scope: Scope<'create' | 'update'>,
  { old, next, requested, rights }: ProposedWrite,
): Promise<void> {
  const grants = grantsAllowingChange(rights.grants, await grantsForDocumentAsync(scope, next));
  if (grants.length === 0) throw notAllowed(scope);
  const write = writableFieldTree(grants);
  if (old === null) return requireWritableFields(storableFields(requested), write);
  const forbidden = findForbiddenField(old, next, write, rights.given);
  if (forbidden !== null) throw fieldNotWritable(splitPath(forbidden));
}

function computed(change: RequestedChange, old: Document, origin: WriteAttribution, rights: Rights): Document {
  const free = rights.read === FULL_FIELD_TREE && rights.write === FULL_FIELD_TREE && rights.given.size === 0;
  return free ? compute(change, old, origin) : computeWithin(change, old, origin, rights);
}

function compute(change: RequestedChange, old: Document, origin: WriteAttribution): Document {
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
  change: RequestedChange,
  old: Document,
  origin: WriteAttribution,
  { read, write, given }: Rights,
): Document {
  const without = (fields: JsonObject) => pickFields(fields, (name) => !given.has(name));
  const keeper = new BsonTypePreserver();
  const [all, rules] = [withoutServerFields(old), { read, write, strict: change.kind === 'edit', keeper }];
  const properties = () => {
    switch (change.kind) {
      case 'replace':
        return replacePermittedFields(without(all), without(storableFields(change.body)), rules);
      case 'merge':
        return mergePermittedFields(without(all), without(storableFields(change.patch)), rules);
      case 'edit': {
        checkNames(change, read, write, given);
        const next = computeFieldsAfterChange(old, { ...selectFields(all, read) }, (shown) =>
          change.apply(shown, origin),
        );
        return replacePermittedFields(without(all), without(next), rules);
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
  change: Extract<RequestedChange, { kind: 'edit' }>,
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
