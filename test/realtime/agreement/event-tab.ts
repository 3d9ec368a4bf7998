/**
 * A tab that follows the events of a collection, and the probes that show which version of its user is active for it.
 * It checks afterwards whether it received every expected event, once, in order, and correctly redacted.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';
import { decodeDocument } from '../../../src/database/bson/stored-document.ts';
import { toWireDocument } from '../../../src/database/json/json.ts';
import type { LogRow } from '../../../src/events/log/log-row.ts';
import { numberOf } from '../../helpers/live/live-state.ts';
import { type Frame, openSocket, type TestSocket } from '../../helpers/live/socket.ts';
import { PROBES, type RightsView } from './changing-rights.ts';

interface Reported {
  readonly states: States;
  readonly at: number;
  /** The version of the user that the tab is known to have had by then. */
  readonly version: number;
}

/** The states before and after, as received. */
type States = readonly [before: unknown, after: unknown];

export class EventTab {
  readonly #t: Test;
  readonly #options: { readonly url: string; readonly collection: string; readonly token: string };
  readonly #reported = new Map<number, Reported>();
  #socket: TestSocket | null = null;
  #issue: string | null = null;
  #last = 0;
  /** Every later row must arrive; null while it is not live. */
  #from: number | null = null;
  #stands = 0;
  version = 0;
  ended = false;

  constructor(t: Test, options: { readonly url: string; readonly collection: string; readonly token: string }) {
    this.#t = t;
    this.#options = options;
  }

  async open(): Promise<void> {
    const { url, token } = this.#options;
    const socket = await openSocket(this.#t, url, { hello: { type: 'hello', token } });
    this.#socket = socket;
    socket.onFrame = (frame) => {
      this.#take(frame);
      socket.frames.length = 0;
    };
    // A machine under load may be too slow for the short heartbeat of a test.
    socket.socket.once('close', () => {
      if (this.#socket !== socket) return;
      this.#from = null;
      this.open().catch((error: unknown) => socket.socket.emit('error', error));
    });
    socket.send({ type: 'subscribe', id: 'probes', events: [`${PROBES}.created`] });
    this.begin();
  }

  begin(): void {
    this.ended = false;
    this.#socket?.send({ type: 'subscribe', id: 'events', events: [`${this.#options.collection}.*`] });
  }

  /** Whether it has received everything up to a row, or has ended. */
  reached(number: number): boolean {
    return this.ended || this.#issue !== null || (this.#from !== null && this.#stands >= number);
  }

  /** Its position, for people. */
  logCursor(): string {
    const { ended, version } = this;
    return `socket ${this.#socket?.socket.readyState}, events since ${this.#from}, received up to ${this.#stands}, ${JSON.stringify({ ended, version })}`;
  }

  close(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.socket.terminate();
  }

  #take(frame: Frame): void {
    if (frame.type === 'transaction') {
      const changes = frame['changes'] as Frame[];
      for (const change of changes) this.#event(change);
    }
    if (frame.type === 'event') this.#event(frame);
    if (frame.type === 'ping' || frame.type === 'live') {
      const number = numberOf(String(frame['position']));
      if (frame['id'] === 'events') this.#from ??= number;
      this.#stands = Math.max(this.#stands, number);
    }
    if (frame['id'] !== 'events') return;
    if (frame.type === 'reset') this.#from = null;
    if (frame.type === 'unsubscribed') {
      this.#from = null;
      this.ended = true;
    }
  }

  #event({ id, event }: Frame): void {
    const reported = event as { id: string; documentId: string | null; before: unknown; data: unknown };
    if (id === 'probes') {
      this.version = Math.max(this.version, (reported.data as { version: number } | null)?.version ?? 0);
      return;
    }
    const number = numberOf(reported.id);
    if (number <= this.#last) this.#issue ??= `${reported.id} after ${this.#last}`;
    this.#last = number;
    const states: States = [plain(reported.before), plain(reported.data)];
    this.#reported.set(number, { states, at: performance.now(), version: this.version });
  }

  /**
   * What is wrong with what it received; null if nothing is.
   * @param rows of its collection, each with the time at which it came, by the monotonic clock
   * @param judged counts the compared events
   */
  issue(
    rows: readonly { readonly row: LogRow; readonly at: number }[],
    views: readonly RightsView[],
    graceMs: number,
    judged: () => void,
  ): string | null {
    if (this.#issue !== null) return this.#issue;
    for (const { row, at } of rows) {
      if (row.key === null || (row.before === null && row.after === null)) continue;
      const reported = this.#reported.get(row.number);
      const until = reported?.at ?? at + graceMs;
      const activeNow = views.filter(
        ({ from, to, version }) => from <= until && to >= at && version >= (reported?.version ?? 0),
      );
      const expected = activeNow.map((view) => statesOf(row, view));
      judged();
      if (reported === undefined) {
        const isDue = this.#from !== null && row.number > this.#from && row.number <= this.#stands;
        if (isDue && expected.length > 0 && expected.every((states) => states !== null))
          return `event ${row.number} did not arrive: ${JSON.stringify(expected)}`;
      } else if (!expected.some((states) => states !== null && isDeepStrictEqual(states, reported.states)))
        return `event ${row.number} is received as ${JSON.stringify(reported.states)} and not as ${JSON.stringify(expected)}`;
    }
    return null;
  }
}

/** The part of a row's states in a view; null if neither is visible. */
function statesOf(row: LogRow, { shows }: RightsView): States | null {
  const [before, after] = [row.before, row.after].map((state) => {
    const [shown] = state === null ? [] : shows([decodeDocument(state)]);
    return shown === undefined ? null : plain(toWireDocument(shown));
  });
  return before === null && after === null ? null : [before, after];
}

/** As JSON, without the server's fields. */
function plain(state: unknown): unknown {
  return JSON.parse(JSON.stringify(state, (name, value: unknown) => (name === '_meta' ? undefined : value)));
}
