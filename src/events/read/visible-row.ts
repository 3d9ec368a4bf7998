/**
 * Rows of the log as one reader may see them: under the names that it may read, with the states before and after, each
 * cut by the reader's Scope. Pure. Not here: the envelope (event.ts) and which rows are asked for (feed.ts).
 */
import type { Document } from 'mongodb';
import { readInTurns } from '../../database/bson/stored.ts';
import { cutBytes } from '../../policies/fields/cut-bytes.ts';
import { askStored, fieldsFor, hidesFields, reachesAll } from '../../policies/reach.ts';
import type { Place, Scope } from '../../policies/scope.ts';
import { ALL, type FieldTree } from '../../query/evaluate/field-tree.ts';
import type { LogRow } from '../log/row.ts';
import { placesOfRow } from '../log/row-audience.ts';

/** A row that a reader may learn of, and the Scope that cuts its states. */
export interface NamedRow {
  readonly row: LogRow;
  readonly scope: Scope<'read'>;
}

/**
 * The row without any name of a collection that the reader may not read. Only a rename has two names. A reader of the
 * old name alone gets the rename without the new name. A reader of the new name alone gets it as an event of the new
 * name: the rename may have removed the documents that were there.
 * @param find the reader's Scope of a place; null where it may read nothing
 * @returns null when the reader may not learn of the row at all; the same row when there is nothing to leave out
 */
export function namedRow(row: LogRow, find: (place: Place) => Scope<'read'> | null): NamedRow | null {
  const [place, taken] = placesOfRow(row);
  const own = find(place);
  if (taken === undefined) return own && { row, scope: own };
  const other = find(taken);
  if (own !== null) return { row: other === null ? { ...row, to: null } : row, scope: own };
  return other && { row: { ...row, collection: row.to }, scope: other };
}

/** A row as it may be seen, with what a filter of the reader's own is asked of. */
export interface ShownRow {
  readonly row: LogRow;
  /** The visible parts of its states, stored. */
  readonly states: readonly Buffer[];
  /** True if the row is shown whatever its states are. */
  readonly always: boolean;
}

/** The members that a reader may see of a stored state; null when it does not reach it. */
export type Sight = (state: Buffer) => FieldTree | null;

/** The row with the visible parts of its states; null when neither state is visible. */
export function shownRow(row: LogRow, scope: Scope<'read'>, sight: Sight): LogRow | null {
  const { row: seen, states, always } = show(row, scope, sight);
  return always || states.length > 0 ? seen : null;
}

/**
 * The row with the visible parts of its states; null when neither state is visible, or neither matches the filter.
 * @param asked the reader's filter, null for none; it is given the visible part only, so that a filter cannot find out
 *   hidden values
 * @param turn as in {@link shownStates}
 */
export async function visibleRow(
  row: LogRow,
  scope: Scope<'read'>,
  asked: ((document: Document) => boolean | Promise<boolean>) | null,
  turn?: () => Promise<unknown>,
): Promise<LogRow | null> {
  const shown = await shownStates(row, scope, turn);
  if (asked === null) return shown.always || shown.states.length > 0 ? shown.row : null;
  return (await passes(shown, asked, turn)) ? shown.row : null;
}

/**
 * The row as it may be seen, tested a few milliseconds at a time: for several filters of readers that see the same.
 * @param turn resolves when the next slice may begin; after whatever else is ready, when left out
 */
export async function shownStates(row: LogRow, scope: Scope<'read'>, turn?: () => Promise<unknown>): Promise<ShownRow> {
  if (showsAll(scope)) return show(row, scope, () => ALL);
  const known = new Map<Buffer, FieldTree | null>();
  for (const state of [row.after, row.before]) {
    if (state !== null) known.set(state, await askStored(scope, state, fieldsFor, turn));
  }
  return show(row, scope, (state) => known.get(state) ?? null);
}

/** Whether a visible state matches the filter of a reader, or the row is shown whatever its states are. */
async function passes(
  { states, always }: ShownRow,
  asked: (document: Document) => boolean | Promise<boolean>,
  turn?: () => Promise<unknown>,
): Promise<boolean> {
  if (always) return true;
  for (const state of states) if (await asked(await readInTurns(state, turn))) return true;
  return false;
}

/** Whether the Scope shows every member of every document. */
export function showsAll(scope: Scope<'read'>): boolean {
  return reachesAll(scope) && !hidesFields(scope);
}

/**
 * Rows about a whole collection are for all of its readers. A row of a document that came without its states is only
 * for readers that may see every document: without a state, neither the Scope nor a filter can be tested.
 */
function show(row: LogRow, scope: Scope<'read'>, sight: Sight): ShownRow {
  const isBlind = row.after === null && row.before === null;
  const always = row.key === null || (isBlind && reachesAll(scope));
  const states: Buffer[] = [];
  let whole = showsAll(scope);
  const cut = (body: Buffer | null): Buffer | null => {
    const fields = body && sight(body);
    whole &&= fields === ALL || body === null;
    if (body === null || fields === null) return null;
    const seen = cutBytes(body, fields);
    states.push(seen);
    return seen;
  };
  const [after, before] = [cut(row.after), cut(row.before)];
  // The changed paths are named only where both states are shown whole: they could name hidden members.
  return { row: { ...row, after, before, update: whole ? row.update : null }, states, always };
}
