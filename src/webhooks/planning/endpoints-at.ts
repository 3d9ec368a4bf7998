/**
 * The endpoints that counted at a place of the event log, from what is stored now and what the log says of later changes.
 * The planner begins with them, and applies the rows after that place one by one. So an endpoint gets exactly the events
 * after the row of its creation, and a changed filter counts from the row of that change on.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Db, Document, Timestamp } from 'mongodb';
import { decodeOwn } from '../../database/bson/raw.ts';
import type { EventLog } from '../../events/log/event-log.ts';
import type { LogPosition } from '../../events/log/position.ts';
import type { Recorder } from '../../events/record/recorder.ts';
import { ENDPOINTS_COLLECTION, interestOf } from '../endpoint/stored-endpoint.ts';
import { documentIdOf, type EndpointStates, isAboutEndpoint, losesEndpoints } from './endpoint-states.ts';

/** Rows that are read at a time. */
const PAGE = 500;
/** How often the recorder is asked how far it has come, and how long at most, in milliseconds. */
const ASK_MS = 10;
const LIMIT_MS = 10_000;

export interface EndpointsAtParts {
  readonly data: Db;
  readonly log: Pick<EventLog, 'newest' | 'about'>;
  readonly recorder: Pick<Recorder, 'hasPassed'>;
  readonly signal: AbortSignal;
}

/**
 * The endpoints after the row at this place.
 * @throws Error when the recorder of this process does not record, or is too far behind
 */
export async function endpointsAt(place: LogPosition, parts: EndpointsAtParts): Promise<EndpointStates> {
  const { documents, time } = await readEndpoints(parts.data);
  // Changes that are in the documents already must be in the log, too, before it is asked for them.
  if (time !== null) await passed(time, parts);
  const states = new Map(statesOf(documents));
  for (const [id, before] of await firstStates(place, parts)) {
    const state = before && interestOf(decodeOwn(before));
    if (state === null) states.delete(id);
    else states.set(id, state);
  }
  return states;
}

/** Endpoints by id, from their stored documents. */
export function statesOf(documents: readonly Document[]): EndpointStates {
  return new Map(documents.flatMap((document) => interestOf(document) ?? []).map((one) => [one.id, one]));
}

/** All endpoints as they are stored at one moment, and the cluster time of that moment; null without the collection. */
export async function readEndpoints(
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

async function passed(time: Timestamp, { recorder, signal }: EndpointsAtParts): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!recorder.hasPassed(time)) {
    if (performance.now() > end) throw new Error('The changes of webhook endpoints are not recorded yet');
    await pause(ASK_MS, undefined, { signal });
  }
}

/** For each endpoint with rows after a place: its stored state before the first of them; null when it did not exist. */
async function firstStates(place: LogPosition, { log }: EndpointsAtParts): Promise<ReadonlyMap<string, Buffer | null>> {
  const found = new Map<string, Buffer | null>();
  const through = (await log.newest())?.number ?? 0;
  for (let after = place.number; after < through; ) {
    const page = await log.about({ after, through, collections: [ENDPOINTS_COLLECTION], limit: PAGE });
    // The consumer is told that rows are gone, and begins again after them.
    if (page === null) break;
    for (const row of page.rows) {
      // What is stored now began after that.
      if (losesEndpoints(row)) return found;
      const id = documentIdOf(row);
      if (isAboutEndpoint(row) && !found.has(id)) found.set(id, row.before);
    }
    after = page.through;
  }
  return found;
}
