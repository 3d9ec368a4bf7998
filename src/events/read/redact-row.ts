/**
 * Rows of the log as one reader may see them: under the names that it may read, with the states before and after, each
 * redacted by the reader's Scope.
 */
import type { Document } from 'mongodb';
import { decodeDocumentCooperatively } from '../../database/bson/stored-document.ts';
import { selectBsonFields } from '../../policies/fields/select-bson-fields.ts';
import type { Resource, Scope } from '../../policies/scope.ts';
import {
  evaluateStoredDocument,
  hidesFields,
  includesAllDocuments,
  visibleFieldTree,
} from '../../policies/scope-filter.ts';
import { type FieldTree, FULL_FIELD_TREE } from '../../query/evaluate/field-tree.ts';
import { resourcesOfRow } from '../log/event-visibility.ts';
import type { LogRow } from '../log/log-row.ts';

/** A row that is visible to a reader, and the Scope that redacts its states. */
export interface ScopedRow {
  readonly row: LogRow;
  readonly scope: Scope<'read'>;
}

/**
 * The row without collection names that the reader must not read. Only a rename has two names. A reader of the old name
 * alone gets the rename without the new name. A reader of the new name alone gets it as an event of the new name: the
 * rename may have removed the documents that were there.
 * @param find the reader's Scope of a resource; null if it may read nothing
 * @returns null if the row is invisible to the reader; the same row if nothing has to be removed
 */
export function redactCollectionNames(
  row: LogRow,
  find: (resource: Resource) => Scope<'read'> | null,
): ScopedRow | null {
  const [named, taken] = resourcesOfRow(row);
  const own = find(named);
  if (taken === undefined) return own && { row, scope: own };
  const other = find(taken);
  if (own !== null) return { row: other === null ? { ...row, to: null } : row, scope: own };
  return other && { row: { ...row, collection: row.to }, scope: other };
}

/** A redacted row, with the input of a reader's own filter. */
export interface RedactedRow {
  readonly row: LogRow;
  /** The visible parts of its states, stored. */
  readonly states: readonly Buffer[];
  /** True if the row is visible whatever its states are. */
  readonly always: boolean;
}

/** The visible fields of a stored state; null if the Scope excludes it. */
export type FieldVisibility = (state: Buffer) => FieldTree | null;

/** The row with the visible parts of its states; null if neither state is visible. */
export function redactRow(row: LogRow, scope: Scope<'read'>, sight: FieldVisibility): LogRow | null {
  const { row: seen, states, always } = show(row, scope, sight);
  return always || states.length > 0 ? seen : null;
}

/**
 * The row with the visible parts of its states; null if neither state is visible, or neither matches the filter.
 * @param requested the reader's filter, null for none; it receives the visible part only, so that it cannot reveal hidden
 * values
 * @param turn as in {@link redactRowStates}
 */
export async function redactMatchingRow(
  row: LogRow,
  scope: Scope<'read'>,
  requested: ((document: Document) => boolean | Promise<boolean>) | null,
  turn?: () => Promise<unknown>,
): Promise<LogRow | null> {
  const shown = await redactRowStates(row, scope, turn);
  if (requested === null) return shown.always || shown.states.length > 0 ? shown.row : null;
  return (await passes(shown, requested, turn)) ? shown.row : null;
}

/**
 * The redacted row, computed a few milliseconds at a time: for several filters of readers with the same view.
 * @param turn resolves when the next slice may begin; by default it yields to whatever else is ready
 */
export async function redactRowStates(
  row: LogRow,
  scope: Scope<'read'>,
  turn?: () => Promise<unknown>,
): Promise<RedactedRow> {
  if (isUnrestricted(scope)) return show(row, scope, () => FULL_FIELD_TREE);
  const known = new Map<Buffer, FieldTree | null>();
  for (const state of [row.after, row.before]) {
    if (state !== null) known.set(state, await evaluateStoredDocument(scope, state, visibleFieldTree, turn));
  }
  return show(row, scope, (state) => known.get(state) ?? null);
}

/** Whether a visible state matches the reader's filter, or the row is visible whatever its states are. */
async function passes(
  { states, always }: RedactedRow,
  requested: (document: Document) => boolean | Promise<boolean>,
  turn?: () => Promise<unknown>,
): Promise<boolean> {
  if (always) return true;
  for (const state of states) if (await requested(await decodeDocumentCooperatively(state, turn))) return true;
  return false;
}

/** Whether the Scope allows every field of every document. */
export function isUnrestricted(scope: Scope<'read'>): boolean {
  return includesAllDocuments(scope) && !hidesFields(scope);
}

/**
 * Rows about a whole collection are visible to all of its readers. A document row without its states is only for
 * readers that may see every document: without a state, neither the Scope nor a filter can be tested.
 */
function show(row: LogRow, scope: Scope<'read'>, sight: FieldVisibility): RedactedRow {
  const isBlind = row.after === null && row.before === null;
  const always = row.key === null || (isBlind && includesAllDocuments(scope));
  const states: Buffer[] = [];
  let whole = isUnrestricted(scope);
  const cut = (body: Buffer | null): Buffer | null => {
    const fields = body && sight(body);
    whole &&= fields === FULL_FIELD_TREE || body === null;
    if (body === null || fields === null) return null;
    const seen = selectBsonFields(body, fields);
    states.push(seen);
    return seen;
  };
  const [after, before] = [cut(row.after), cut(row.before)];
  // Changed paths are included only if both states are visible as a whole: they could contain hidden fields.
  return { row: { ...row, after, before, update: whole ? row.update : null }, states, always };
}
