/**
 * The endpoints at one place of the event log, and what a row of the log changes in them. Pure. Not here: where to begin
 * (endpoints-at.ts), and the values by which an endpoint is called (sending/).
 */
import { decodeOwn } from '../../database/bson/raw.ts';
import { readStored } from '../../database/bson/stored.ts';
import { idText } from '../../database/json/ids.ts';
import type { LogRow } from '../../events/log/row.ts';
import type { EndpointInterest } from '../endpoint/endpoint.ts';
import { ENDPOINTS_COLLECTION, interestOf } from '../endpoint/stored-endpoint.ts';

/** Endpoints by id. It is never changed: a change makes another one. */
export type EndpointStates = ReadonlyMap<string, EndpointInterest>;

const WHOLE: ReadonlySet<string> = new Set(['drop', 'rename', 'dropDatabase', 'gap', 'reset']);

/** True if a row is about one endpoint. */
export function isAboutEndpoint(row: LogRow): boolean {
  return row.collection === ENDPOINTS_COLLECTION && row.key !== null;
}

/** True if endpoints may have changed in ways that no row of theirs tells: the collection is gone, or rows are missing. */
export function losesEndpoints({ operation, collection, to }: LogRow): boolean {
  if (!WHOLE.has(operation)) return false;
  return collection === null || collection === ENDPOINTS_COLLECTION || to === ENDPOINTS_COLLECTION;
}

/** The id of the document that a row is about, as clients write it. */
export function documentIdOf(row: LogRow): string {
  return row.key === null ? '' : idText(readStored(row.key)['_id']);
}

/** The endpoints after a row, of which `isAboutEndpoint` holds. */
export function withRow(states: EndpointStates, row: LogRow): EndpointStates {
  const changed = new Map(states);
  const id = documentIdOf(row);
  const state = row.after && interestOf(decodeOwn(row.after));
  if (state === null) changed.delete(id);
  else changed.set(id, state);
  return changed;
}
