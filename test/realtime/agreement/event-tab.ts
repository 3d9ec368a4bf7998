/**
 * A tab that follows the events of a collection, and the probes that tell it which version of its account is in force for
 * it. It judges afterwards whether it was told every event that it had to be told, once, in order, and cut as it should be.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';
import { readStored } from '../../../src/database/bson/stored.ts';
import { toWire } from '../../../src/database/json/json.ts';
import type { LogRow } from '../../../src/events/log/row.ts';
import { numberOf } from '../../helpers/live/live-state.ts';
import { type Frame, openSocket, type TestSocket } from '../../helpers/live/socket.ts';
import { PROBES, type RightsView } from './changing-rights.ts';

interface Told {
  readonly states: States;
  readonly at: number;
  /** The version of the account that the tab is known to have had by then. */
  readonly version: number;
}

/** The states before and after, as they are told. */
type States = readonly [before: unknown, after: unknown];

export class EventTab {
  readonly #t: Test;
  readonly #options: { readonly url: string; readonly collection: string; readonly token: string };
  readonly #told = new Map<number, Told>();
  #socket: TestSocket | null = null;
  #fault: string | null = null;
  #last = 0;
  /** Everything above has to be told; null while it is not live. */
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

  /** Whether it has been told everything up to a row, or has ended. */
  reached(number: number): boolean {
    return this.ended || this.#fault !== null || (this.#from !== null && this.#stands >= number);
  }

  /** Where it stands, to be read by a person. */
  stand(): string {
    const { ended, version } = this;
    return `socket ${this.#socket?.socket.readyState}, events since ${this.#from}, told up to ${this.#stands}, ${JSON.stringify({ ended, version })}`;
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
    const told = event as { id: string; documentId: string | null; before: unknown; data: unknown };
    if (id === 'probes') {
      this.version = Math.max(this.version, (told.data as { version: number } | null)?.version ?? 0);
      return;
    }
    const number = numberOf(told.id);
    if (number <= this.#last) this.#fault ??= `${told.id} after ${this.#last}`;
    this.#last = number;
    const states: States = [plain(told.before), plain(told.data)];
    this.#told.set(number, { states, at: performance.now(), version: this.version });
  }

  /**
   * What is wrong with what it was told; null when nothing is.
   * @param rows of its collection, each with the moment at which it came, by the monotonic clock
   * @param judged counts the events that were compared
   */
  fault(
    rows: readonly { readonly row: LogRow; readonly at: number }[],
    views: readonly RightsView[],
    graceMs: number,
    judged: () => void,
  ): string | null {
    if (this.#fault !== null) return this.#fault;
    for (const { row, at } of rows) {
      if (row.key === null || (row.before === null && row.after === null)) continue;
      const told = this.#told.get(row.number);
      const until = told?.at ?? at + graceMs;
      const inForce = views.filter(
        ({ from, to, version }) => from <= until && to >= at && version >= (told?.version ?? 0),
      );
      const expected = inForce.map((view) => statesOf(row, view));
      judged();
      if (told === undefined) {
        const isDue = this.#from !== null && row.number > this.#from && row.number <= this.#stands;
        if (isDue && expected.length > 0 && expected.every((states) => states !== null))
          return `event ${row.number} is not told: ${JSON.stringify(expected)}`;
      } else if (!expected.some((states) => states !== null && isDeepStrictEqual(states, told.states)))
        return `event ${row.number} is told as ${JSON.stringify(told.states)} and not as ${JSON.stringify(expected)}`;
    }
    return null;
  }
}

/** What of a row's states a view shows; null when neither. */
function statesOf(row: LogRow, { shows }: RightsView): States | null {
  const [before, after] = [row.before, row.after].map((state) => {
    const [shown] = state === null ? [] : shows([readStored(state)]);
    return shown === undefined ? null : plain(toWire(shown));
  });
  return before === null && after === null ? null : [before, after];
}

/** As JSON has it, without what the server keeps of it. */
function plain(state: unknown): unknown {
  return JSON.parse(JSON.stringify(state, (name, value: unknown) => (name === '_meta' ? undefined : value)));
}
