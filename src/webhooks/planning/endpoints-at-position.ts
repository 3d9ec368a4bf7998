/**
 * Reconstructs the endpoints that were active at a log position, from the stored ones and the later changes in the log.
 * The planner starts there and applies later rows one by one. So an endpoint receives exactly the events after its
 * creation, and a changed filter applies from the row of that change on.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Db, Document, Timestamp } from 'mongodb';
import { decodeSystemBson } from '../../database/bson/raw-bson.ts';
import type { EventLog } from '../../events/log/event-log.ts';
import type { LogPosition } from '../../events/log/position.ts';
import type { Recorder } from '../../events/record/recorder.ts';
import { ENDPOINTS_COLLECTION, toEndpointSubscription } from '../endpoint/stored-endpoint.ts';
import { documentIdOf, type EndpointStates, invalidatesEndpoints, isAboutEndpoint } from './endpoint-states.ts';

/** Rows read at a time. */
const PAGE = 500;
/** How often, and for how long at most, the recorder's progress is polled, in milliseconds. */
const REQUEST_MS = 10;
const LIMIT_MS = 10_000;

export interface EndpointsAtPositionDeps {
  readonly data: Db;
  readonly log: Pick<EventLog, 'newest' | 'about'>;
  readonly recorder: Pick<Recorder, 'hasPassed'>;
  readonly signal: AbortSignal;
}

/**
 * The endpoints after the row at this position.
 * @throws Error if the recorder of this process does not record, or is too far behind
 */
export async function endpointsAtPosition(
  position: LogPosition,
  deps: EndpointsAtPositionDeps,
): Promise<EndpointStates> {
  const { documents, time } = await readEndpointsSnapshot(deps.data);
  // Changes that the documents already contain must be in the log, too, before the log is read for them.
  if (time !== null) await passed(time, deps);
  const states = new Map(toEndpointStates(documents));
  for (const [id, before] of await firstStates(position, deps)) {
    const state = before && toEndpointSubscription(decodeSystemBson(before));
    if (state === null) states.delete(id);
    else states.set(id, state);
  }
  return states;
}

/** Endpoints by id, from their stored documents. */
export function toEndpointStates(documents: readonly Document[]): EndpointStates {
  return new Map(documents.flatMap((document) => toEndpointSubscription(document) ?? []).map((one) => [one.id, one]));
}

/** All endpoints stored at one cluster time, and that time; null without the collection. */
export async function readEndpointsSnapshot(
  data: Db,
): Promise<{ readonly documents: Document[]; readonly time: Timestamp | null }> {
  const session = data.client.startSession();
  try {
    const reply = await data.command({ find: ENDPOINTS_COLLECTION, readConcern: { level: 'snapshot' } }, { session });
    const documents: Document[] = [...reply['cursor'].firstBatch];
    for (let cursor: unknown = reply['cursor'].id; String(cursor) !== '0'; ) {
      const more = await data.command({ getMore: cursor, collection: ENDPOINTS_COLLECTION }, { session });
      documents.push(...more['cursor'].nextBatch);
      cursor = more['cursor'].id;
    }
    return { documents, time: reply['cursor'].atClusterTime ?? null };
  } finally {
    await session.endSession();
  }
}

async function passed(time: Timestamp, { recorder, signal }: EndpointsAtPositionDeps): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!recorder.hasPassed(time)) {
    if (performance.now() > end) throw new Error('The changes of webhook endpoints are not recorded yet');
    await pause(REQUEST_MS, undefined, { signal });
  }
}

/**
 * For each endpoint with rows after a position: its stored state before the first of them; null if it did not exist.
 */
async function firstStates(
  position: LogPosition,
  { log }: EndpointsAtPositionDeps,
): Promise<ReadonlyMap<string, Buffer | null>> {
  const found = new Map<string, Buffer | null>();
  const through = (await log.newest())?.number ?? 0;
  for (let after = position.number; after < through; ) {
    const page = await log.about({ after, through, collections: [ENDPOINTS_COLLECTION], limit: PAGE });
    // The consumer learns of the gap and restarts after the missing rows.
    if (page === null) break;
    for (const row of page.rows) {
      // What is stored now began after that.
      if (invalidatesEndpoints(row)) return found;
      const id = documentIdOf(row);
      if (isAboutEndpoint(row) && !found.has(id)) found.set(id, row.before);
    }
    after = page.through;
  }
  return found;
}
