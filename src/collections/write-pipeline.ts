/**
 * The way of every write until it is stored: it is proposed, write hooks may amend or reject it, and its result is
 * authorized. The result of a hook counts as if the client had sent it. Many writes go to the hooks together, in
 * batches of bounded size.
 */
import { setImmediate as otherWork } from 'node:timers/promises';
import type { Document } from 'mongodb';
import { decodeExactDocument, encodeBsonDocument } from '../database/bson/stored-document.ts';
import { newId } from '../database/json/ids.ts';
import { encodeDocumentJson } from '../database/json/json.ts';
import type { CollectionName } from '../database/parse-collection-name.ts';
import { MillraceError } from '../lib/errors.ts';
import type { Scope } from '../policies/scope.ts';
import { hidesFields } from '../policies/scope-filter.ts';
import type { TransactionContext } from './open-transaction.ts';
import {
  amendProposedWrite,
  authorizeWrite,
  type ProposedWrite,
  proposeCreate,
  proposeUpdate,
} from './write/authorize-write.ts';
import type { JsonObject, WriteAttribution } from './write/build-document.ts';
import type { RequestedChange } from './write/requested-change.ts';
import type { WriteAction, WriteHook, WriteHookContext, WriteHooks } from './write-hooks.ts';

/** Writes per batch: a hook may need an operation or two for each, and its operations are limited. */
const MAX_BATCH_WRITES = 100;
/** Characters of JSON per batch; a larger document goes alone. */
const MAX_BATCH_CHARACTERS = 1024 * 1024;

export interface WritePipelineContext extends WriteHookContext {
  /** The hooks for these writes, in order; empty for most collections. */
  readonly hooks: readonly WriteHook[];
}

/** What writes of one action on one collection have in common, with the hooks that are registered for them. */
export function toPipelineContext(
  hooks: WriteHooks | undefined,
  { action, principal }: Scope<WriteAction>,
  collection: CollectionName,
  origin: Omit<WriteAttribution, 'principal'>,
  within: TransactionContext | undefined,
): WritePipelineContext {
  const registered = hooks?.hooksFor(collection, action) ?? [];
  return { hooks: registered, collection, action, origin: { principal, ...origin }, within };
}

/** Adds to an error which of the writes caused it. */
export type AnnotateWriteError<I> = (error: unknown, item: I, index: number) => unknown | Promise<unknown>;

/** A document as it is stored, decoded with exact types where that has been done already. */
export interface StoredState {
  readonly raw: Uint8Array;
  readonly old?: Document;
}

/** The steps of one action: `I` is what the write is made from, `P` the proposal. */
interface WriteSteps<I, P> {
  /** Whether one write may take as long as a whole request, so that others run between any two of them. */
  readonly isLong: boolean;
  readonly propose: (item: I) => P | Promise<P>;
  /** The stored document; null for a creation. */
  readonly before: (item: I) => Uint8Array | null;
  /** What would be stored; null for a deletion. */
  readonly next: (proposal: P) => Document | null;
  readonly amend: (proposal: P, fields: JsonObject) => P;
  readonly authorize: (proposal: P) => Promise<void> | undefined;
}

/**
 * The documents that creates store, in order.
 * @throws MillraceError `forbidden`, `field-not-writable`, `invalid-id`, `unsupported-field-name`, and errors and
 * rejections of hooks
 */
export async function prepareCreates(
  scope: Scope<'create'>,
  bodies: readonly JsonObject[],
  context: WritePipelineContext,
  annotate?: AnnotateWriteError<JsonObject>,
): Promise<readonly Document[]> {
  const steps: WriteSteps<JsonObject, ProposedWrite> = {
    isLong: false,
    propose: (body) => proposeCreate(scope, body, context.origin, newId),
    before: () => null,
    next: ({ next }) => next,
    amend: amendProposedWrite,
    authorize: (proposal) => authorizeWrite(scope, proposal),
  };
  return (await finalizeWrites(bodies, steps, context, scope.reader, annotate)).map(({ next }) => next);
}

/**
 * The documents before and after a change, in the order of the stored ones.
 * @throws MillraceError `forbidden`, `field-hidden`, `field-not-writable`, what the change throws, and errors and
 * rejections of hooks
 */
export function prepareUpdates(
  scope: Scope<'update'>,
  change: RequestedChange,
  stored: readonly StoredState[],
  context: WritePipelineContext,
  annotate?: AnnotateWriteError<StoredState>,
): Promise<readonly ProposedWrite[]> {
  const steps: WriteSteps<StoredState, ProposedWrite> = {
    isLong: true,
    propose: ({ raw, old = decodeExactDocument(raw) }) => proposeUpdate(scope, change, old, context.origin),
    before: ({ raw }) => raw,
    next: ({ next }) => next,
    amend: amendProposedWrite,
    authorize: (proposal) => authorizeWrite(scope, proposal),
  };
  return finalizeWrites(stored, steps, context, scope.reader, annotate);
}

/**
 * Lets hooks check deletions, which the Scope has allowed already. Fields that a hook returns have no effect.
 * @throws MillraceError errors and rejections of hooks
 */
export async function prepareDeletes(
  stored: readonly StoredState[],
  context: WritePipelineContext,
  annotate?: AnnotateWriteError<StoredState>,
): Promise<void> {
  const steps: WriteSteps<StoredState, null> = {
    isLong: false,
    propose: () => null,
    before: ({ raw }) => raw,
    next: () => null,
    amend: () => null,
    authorize: () => undefined,
  };
  await finalizeWrites(stored, steps, context, null, annotate);
}

/** One write of the current batch. */
interface PendingWrite<P> {
  proposal: P;
  readonly before: string | null;
  /** What would be stored, as JSON; undefined after a hook has amended it. */
  document: string | null | undefined;
  isAmended: boolean;
}

async function finalizeWrites<I, P>(
  items: readonly I[],
  steps: WriteSteps<I, P>,
  { hooks, ...context }: WritePipelineContext,
  reader: Scope<'read'> | null,
  annotate: AnnotateWriteError<I> = (error) => error,
): Promise<readonly P[]> {
  const finalized: P[] = [];
  const hasHooks = hooks.length > 0;
  const yields = hasHooks || steps.isLong;
  let batch: PendingWrite<P>[] = [];
  let characters = 0;
  // The write at work, for errors: none while a hook checks all writes of a batch.
  let current: number | null = null;
  let isAmending = false;

  async function finishBatch(): Promise<void> {
    for (const hook of batch.length === 0 ? [] : hooks) {
      current = null;
      const shown = batch.map((one) => {
        one.document ??= toJsonText(steps.next(one.proposal));
        return { document: one.document, before: one.before };
      });
      const verdicts = await hook.check(shown, context);
      for (const [index, one] of batch.entries()) {
        const verdict = verdicts[index] ?? null;
        if (verdict === null) continue;
        current = finalized.length + index;
        if (verdict instanceof MillraceError) throw verdict;
        isAmending = true;
        one.proposal = steps.amend(one.proposal, verdict);
        isAmending = false;
        one.document = undefined;
        one.isAmended = true;
      }
    }
    for (const { proposal, isAmended } of batch) {
      current = finalized.length;
      isAmending = isAmended;
      await steps.authorize(proposal);
      finalized.push(proposal);
    }
    isAmending = false;
    batch = [];
    characters = 0;
  }

  try {
    for (const [index, item] of items.entries()) {
      if (yields && index > 0) await otherWork();
      current = index;
      const proposal = await steps.propose(item);
      const raw = hasHooks ? steps.before(item) : null;
      const before = raw === null ? null : encodeDocumentJson(raw).toString();
      const document = hasHooks ? toJsonText(steps.next(proposal)) : null;
      const size = (before?.length ?? 0) + (document?.length ?? 0);
      if (characters + size > MAX_BATCH_CHARACTERS) await finishBatch();
      batch.push({ proposal, before, document, isAmended: false });
      characters += size;
      if (!hasHooks || batch.length === MAX_BATCH_WRITES) await finishBatch();
    }
    await finishBatch();
  } catch (error) {
    const shown = isAmending ? withoutHiddenField(error, reader) : error;
    throw current === null ? shown : await annotate(shown, items[current] as I, current);
  }
  return finalized;
}

function toJsonText(document: Document | null): string | null {
  return document === null ? null : encodeDocumentJson(encodeBsonDocument(document)).toString();
}

/** A hook sees the whole document, so it may set a field whose name the client must not learn. */
function withoutHiddenField(error: unknown, reader: Scope<'read'> | null): unknown {
  const names = error instanceof MillraceError && error.code === 'field-not-writable';
  if (!names || (reader !== null && !hidesFields(reader))) return error;
  return new MillraceError('field-not-writable', 'A write hook set a field that you must not set', { cause: error });
}

/** The result for a single write. */
export function onlyOne<T>(result: T | undefined): T {
  if (result === undefined) throw new TypeError('The write has no result');
  return result;
}
