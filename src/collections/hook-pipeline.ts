/**
 * Runs write hooks. The result of a hook counts as if the client had sent it: stored types are kept, values of policies
 * are set last, and the result is authorized. Many writes go to the hooks together, in batches of bounded size.
 */
import { setImmediate as otherWork } from 'node:timers/promises';
import type { Document } from 'mongodb';
import { decodeExactDocument, decodeExactDocumentMap, encodeBsonDocument } from '../database/bson/stored-document.ts';
import { newId } from '../database/json/ids.ts';
import { encodeDocumentJson } from '../database/json/json.ts';
import { MillraceError } from '../lib/errors.ts';
import type { Scope } from '../policies/scope.ts';
import { hidesFields } from '../policies/scope-filter.ts';
import {
  amendProposedChange,
  amendProposedCreate,
  authorizeProposedChange,
  authorizeProposedCreate,
  type ProposedChange,
  type ProposedCreate,
  proposeChange,
  proposeCreate,
} from './write/authorize-write.ts';
import type { JsonObject } from './write/build-document.ts';
import type { DocumentChange } from './write/change-types.ts';
import type { HookResponse, WriteHook, WriteHookContext } from './write-hooks.ts';

/** Writes per batch: a hook may need an operation or two for each, and its operations are limited. */
const MOST = 100;
/** Characters of JSON per batch; a larger document goes alone. */
const MOST_TEXT = 1024 * 1024;

export interface HookPipeline extends WriteHookContext {
  readonly hooks: readonly WriteHook[];
}

/** Adds to an error the index of the write that caused it. */
export type AnnotateWriteError<I> = (error: unknown, item: I, index: number) => unknown | Promise<unknown>;

const ofTheOnlyOne: AnnotateWriteError<unknown> = (error) => error;

/** Steps of the writes of one action. `I` is the input, `P` the proposal, `R` the result. */
interface Steps<I, P, R> {
  readonly propose: (item: I) => P | Promise<P>;
  readonly before: (item: I) => Uint8Array | null;
  /** What would be stored; null for a deletion. */
  readonly next: (proposal: P) => Document | null;
  readonly amend: (proposal: P, fields: JsonObject) => P;
  readonly settle: (proposal: P) => R | Promise<R>;
}

/**
 * The document that a create stores.
 * @throws MillraceError what `permittedCreate` throws, and errors and rejections of hooks
 */
export async function runCreateHooks(
  scope: Scope<'create'>,
  body: JsonObject,
  hooked: HookPipeline,
): Promise<Document> {
  return theOnly(await seen([body], hooked, creation(scope, hooked), scope.reader, ofTheOnlyOne));
}

/** The same for many. An error includes the index of the failing document. */
export function runBulkCreateHooks(
  scope: Scope<'create'>,
  bodies: readonly JsonObject[],
  hooked: HookPipeline,
): Promise<Document[]> {
  const blame: AnnotateWriteError<JsonObject> = (error, _body, index) =>
    error instanceof MillraceError ? error.at(`/${index}`) : error;
  return seen(bodies, hooked, creation(scope, hooked), scope.reader, blame);
}

function creation(scope: Scope<'create'>, { origin }: HookPipeline): Steps<JsonObject, ProposedCreate, Document> {
  return {
    propose: (body) => proposeCreate(scope, body, origin, newId),
    before: () => null,
    next: ({ document }) => document,
    amend: (proposal, fields) => amendProposedCreate(scope, proposal, fields),
    settle: (proposal) => authorizeProposedCreate(scope, proposal),
  };
}

/**
 * The document after a change.
 * @param stored the current document
 * @throws MillraceError what `permittedChange` throws, and errors and rejections of hooks
 */
export async function runUpdateHooks(
  scope: Scope<'update'>,
  change: DocumentChange,
  stored: Uint8Array,
  hooked: HookPipeline,
): Promise<Document> {
  return theOnly(await runBulkUpdateHooks(scope, change, [stored], hooked));
}

/**
 * The documents after a change, in the order of the stored ones.
 * @param stored the current documents
 * @throws MillraceError what `permittedChange` throws, and errors and rejections of hooks
 */
export function runBulkUpdateHooks(
  scope: Scope<'update'>,
  change: DocumentChange,
  stored: readonly Uint8Array[],
  hooked: HookPipeline,
  blame: AnnotateWriteError<Uint8Array> = ofTheOnlyOne,
): Promise<Document[]> {
  const steps: Steps<Uint8Array, ProposedChange, Document> = {
    propose: (raw) => proposeChange(scope, change, decodeExactDocument(raw), hooked.origin),
    before: (raw) => raw,
    next: ({ next }) => next,
    amend: amendProposedChange,
    settle: (proposal) => authorizeProposedChange(scope, proposal),
  };
  return seen(stored, hooked, steps, scope.reader, blame);
}

/**
 * Passes documents to be deleted to the hooks. Fields that a hook returns have no effect.
 * @throws MillraceError errors and rejections of hooks
 */
export async function runDeleteHooks(
  stored: readonly Uint8Array[],
  hooked: HookPipeline,
  blame: AnnotateWriteError<Uint8Array> = ofTheOnlyOne,
): Promise<void> {
  const steps: Steps<Uint8Array, null, null> = {
    propose: () => null,
    before: (raw) => raw,
    next: () => null,
    amend: () => null,
    settle: () => null,
  };
  await seen(stored, hooked, steps, null, blame);
}

/**
 * False for a document that the database cannot compare with what was read, because not all of it can be written back.
 */
export function isComparableDocument(raw: Uint8Array): boolean {
  try {
    decodeExactDocumentMap(raw);
    return true;
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'unsupported-value') return false;
    throw error;
  }
}

/** One write in the hook pipeline. */
interface Pending<P> {
  readonly before: string | null;
  proposal: P;
  /** What would be stored, as JSON; undefined after a hook has changed it. */
  document: string | null | undefined;
  /** Whether a hook has changed it. */
  amended: boolean;
}

async function seen<I, P, R>(
  items: readonly I[],
  hooked: HookPipeline,
  steps: Steps<I, P, R>,
  reader: Scope<'read'> | null,
  blame: AnnotateWriteError<I>,
): Promise<R[]> {
  const results: R[] = [];
  let part: Pending<P>[] = [];
  let text = 0;
  const at = async <T>(index: number, work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw await blame(error, items[index] as I, index);
    }
  };
  const finishPart = async () => {
    const first = results.length;
    await showTo(hooked, steps, part, (index, work) => at(first + index, work), reader);
    for (const { proposal, amended } of part) {
      const settle = () => steps.settle(proposal);
      results.push(await at(results.length, amended ? () => discreetly(reader, settle) : settle));
    }
    part = [];
    text = 0;
  };
  for (const [index, item] of items.entries()) {
    const pending = await at(index, () => begin(item, steps));
    const size = (pending.before?.length ?? 0) + (pending.document?.length ?? 0);
    if (part.length === MOST || (part.length > 0 && text + size > MOST_TEXT)) await finishPart();
    part.push(pending);
    text += size;
    // Each may take as long as a whole request.
    if (items.length > 1) await otherWork();
  }
  await finishPart();
  return results;
}

function theOnly<T>([only]: readonly T[]): T {
  if (only === undefined) throw new TypeError('A hook returned no result');
  return only;
}

async function begin<I, P, R>(item: I, steps: Steps<I, P, R>): Promise<Pending<P>> {
  const [proposal, raw] = [await steps.propose(item), steps.before(item)];
  const before = raw === null ? null : encodeDocumentJson(raw).toString();
  return { before, proposal, document: textOf(steps.next(proposal)), amended: false };
}

async function showTo<I, P, R>(
  { hooks, ...showing }: HookPipeline,
  steps: Steps<I, P, R>,
  part: readonly Pending<P>[],
  at: <T>(index: number, work: () => T | Promise<T>) => Promise<T>,
  reader: Scope<'read'> | null,
): Promise<void> {
  if (part.length === 0) return;
  for (const hook of hooks) {
    const shown = part.map((one) => {
      one.document ??= textOf(steps.next(one.proposal));
      return { document: one.document, before: one.before };
    });
    const verdicts: readonly HookResponse[] = await hook.check(shown, showing);
    for (const [index, one] of part.entries()) {
      const verdict = verdicts[index] ?? null;
      if (verdict === null) continue;
      one.proposal = await at(index, () => {
        if (verdict instanceof MillraceError) throw verdict;
        return discreetly(reader, () => steps.amend(one.proposal, verdict));
      });
      one.document = undefined;
      one.amended = true;
    }
  }
}

function textOf(document: Document | null): string | null {
  return document === null ? null : encodeDocumentJson(encodeBsonDocument(document)).toString();
}

/** A hook sees the whole document, so it may set a field whose name the client must not learn. */
async function discreetly<T>(reader: Scope<'read'> | null, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const names = error instanceof MillraceError && error.code === 'field-not-writable';
    if (!names || (reader !== null && !hidesFields(reader))) throw error;
    throw new MillraceError('field-not-writable', 'A write hook set a field that you must not set', { cause: error });
  }
}
