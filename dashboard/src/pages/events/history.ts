/** Reads the event log page by page: forwards, backwards, and by the position of a time. */
import { request, withQuery } from '../../api/client.ts';
import type { LoggedEvent } from '../../api/live.ts';
import { numberOf, withNumber } from './position.ts';
import type { EventPage, Older } from './tail.ts';

/** Which events are requested. */
export interface Requested {
  readonly types: readonly string[];
  readonly filter: Readonly<Record<string, unknown>> | undefined;
}

interface State {
  readonly events: { readonly log: { readonly floor: number } };
}

/** Maximum events of one request. */
const MOST = 1_000;
/** Older events are searched until this many match, or this many positions were read. */
const ENOUGH = 100;
const MOST_LOOKED_AT = 20_000;

/** The events after a position. Without a position: none, and the newest position. */
export async function pageAfter(
  since: string | undefined,
  requested: Requested | null,
  limit = MOST,
): Promise<EventPage> {
  const received = {
    since,
    limit,
    types: requested?.types.join(','),
    filter: requested?.filter === undefined ? undefined : JSON.stringify(requested.filter),
  };
  return (await request<EventPage>('GET', withQuery('/events', received))).body;
}

/** One event by its id; undefined when the log does not retain it. */
export async function eventOf(id: string): Promise<LoggedEvent | undefined> {
  const { events } = await pageAfter(withNumber(id, numberOf(id) - 1), null, 1);
  return events.find((event) => event.id === id);
}

/** The newest events before a position. */
export async function pageBefore(before: string, requested: Requested): Promise<Older> {
  const first = Math.max(1, await floor());
  const { position } = await pageAfter(undefined, null);
  let found: readonly LoggedEvent[] = [];
  let upTo = numberOf(before);
  const last = upTo - MOST_LOOKED_AT;
  for (let span = ENOUGH; found.length < ENOUGH && upTo > first && upTo > last; span = Math.min(span * 2, MOST)) {
    const from = Math.max(first, upTo - span);
    found = [...(await range(withNumber(position, from - 1), upTo, requested)), ...found];
    upTo = from;
  }
  return { events: found, before: withNumber(position, upTo), isAll: upTo <= first };
}

/** The events after a position with numbers below `upTo`. */
async function range(since: string, upTo: number, requested: Requested): Promise<LoggedEvent[]> {
  const events: LoggedEvent[] = [];
  for (let at = since; numberOf(at) < upTo - 1; ) {
    const page = await pageAfter(at, requested, Math.min(MOST, upTo - 1 - numberOf(at)));
    events.push(...page.events.filter(({ id }) => numberOf(id) < upTo));
    if (numberOf(page.position) <= numberOf(at)) break;
    at = page.position;
  }
  return events;
}

/**
 * The position before the first event at a time or later. Positions follow time, so a binary search finds it.
 * @param time milliseconds since 1970
 */
export async function positionAt(time: number): Promise<string> {
  const { position } = await pageAfter(undefined, null);
  let low = Math.max(1, await floor()) - 1;
  let high = numberOf(position);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = (await pageAfter(withNumber(position, middle), null, 1)).events;
    if (event === undefined || Date.parse(event.timestamp) >= time) high = middle;
    else low = middle + 1;
  }
  return withNumber(position, low);
}

/** The lowest number of a retained event. */
async function floor(): Promise<number> {
  return (await request<State>('GET', '/admin/status')).body.events.log.floor;
}
