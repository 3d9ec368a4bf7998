/** The endpoints at one log position, and the effect of a row on them. */
import { decodeSystemBson } from '../../database/bson/raw-bson.ts';
import { decodeDocument } from '../../database/bson/stored-document.ts';
import { idText } from '../../database/json/ids.ts';
import type { LogRow } from '../../events/log/log-row.ts';
import type { EndpointSubscription } from '../endpoint/endpoint.ts';
import { ENDPOINTS_COLLECTION, toEndpointSubscription } from '../endpoint/stored-endpoint.ts';

/** Endpoints by id. Immutable: a change returns a new map. */
export type EndpointStates = ReadonlyMap<string, EndpointSubscription>;

const WHOLE: ReadonlySet<string> = new Set(['drop', 'rename', 'dropDatabase', 'gap', 'reset']);

/** True if a row is about one endpoint. */
export function isAboutEndpoint(row: LogRow): boolean {
  return row.collection === ENDPOINTS_COLLECTION && row.key !== null;
}

/** True if endpoints may have changed without rows of their own: the collection was dropped, or rows are missing. */
export function invalidatesEndpoints({ operation, collection, to }: LogRow): boolean {
  if (!WHOLE.has(operation)) return false;
  return collection === null || collection === ENDPOINTS_COLLECTION || to === ENDPOINTS_COLLECTION;
}

/** The id of the document that a row is about, as clients write it. */
export function documentIdOf(row: LogRow): string {
  return row.key === null ? '' : idText(decodeDocument(row.key)['_id']);
}

/** The endpoints after a row for which `isAboutEndpoint` is true. */
export function applyEndpointRow(states: EndpointStates, row: LogRow): EndpointStates {
  const changed = new Map(states);
  const id = documentIdOf(row);
  const state = row.after && toEndpointSubscription(decodeSystemBson(row.after));
  if (state === null) changed.delete(id);
  else changed.set(id, state);
  return changed;
}
