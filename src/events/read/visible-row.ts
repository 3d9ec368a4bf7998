/**
 * Rows of the log as one reader may see them: under the names that it may read, with the states before and after, each
 * cut by the reader's Scope. Pure. Not here: the envelope (event.ts) and which rows are asked for (feed.ts).
 */
import type { Document } from 'mongodb';
import { readStored } from '../../database/bson/stored.ts';
import { cutBytes } from '../../policies/fields/cut-bytes.ts';
import { fieldsFor, hidesFields, judgeStored, reachesAll } from '../../policies/reach.ts';
import type { Place, Scope } from '../../policies/scope.ts';
import { ALL, cutTo } from '../../query/evaluate/field-tree.ts';
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
  /** The visible parts of its states. */
  readonly states: readonly Document[];
  /** True if the row is shown whatever its states are. */
  readonly always: boolean;
}

/** The row with the visible parts of its states; null when neither state is visible. */
export function shownRow(row: LogRow, scope: Scope<'read'>): LogRow | null {
  const { row: seen, states, always } = show(row, scope);
  return always || states.length > 0 ? seen : null;
}

/**
 * The row with the visible parts of its states; null when neither state is visible, or neither matches the filter.
 * @param asked the reader's filter; it is given the visible part only, so that a filter cannot find out hidden values
 */
export async function visibleRow(
  row: LogRow,
  scope: Scope<'read'>,
  asked: (document: Document) => boolean | Promise<boolean>,
): Promise<LogRow | null> {
  const shown = await shownStates(row, scope);
  return (await passes(shown, asked)) ? shown.row : null;
}

/** The row as it may be seen, judged a few milliseconds at a time: for several filters of readers that see the same. */
export async function shownStates(row: LogRow, scope: Scope<'read'>): Promise<ShownRow> {
  await judgeStored(scope, [row.after, row.before]);
  return show(row, scope);
}

/** Whether a visible state matches the filter of a reader, or the row is shown whatever its states are. */
export async function passes(
  { states, always }: ShownRow,
  asked: (document: Document) => boolean | Promise<boolean>,
): Promise<boolean> {
  if (always) return true;
  for (const state of states) if (await asked(state)) return true;
  return false;
}

/**
 * Rows about a whole collection are for all of its readers. A row of a document that came without its states is only
 * for readers that may see every document: without a state, neither the Scope nor a filter can be tested.
 */
function show(row: LogRow, scope: Scope<'read'>): ShownRow {
  const isBlind = row.after === null && row.before === null;
  const always = row.key === null || (isBlind && reachesAll(scope));
  const states: Document[] = [];
  let whole = reachesAll(scope) && !hidesFields(scope);
  const cut = (body: Buffer | null): Buffer | null => {
    const document = body && readStored(body);
    const fields = document && fieldsFor(scope, document);
    whole &&= fields === ALL || body === null;
    if (body === null || document === null || fields === null) return null;
    states.push(cutTo(document, fields));
    return cutBytes(body, fields);
  };
  const [after, before] = [cut(row.after), cut(row.before)];
  // The changed paths are named only where both states are shown whole: they could name hidden members.
  return { row: { ...row, after, before, update: whole ? row.update : null }, states, always };
}
