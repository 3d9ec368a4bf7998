/**
 * The base of all subscription cases: how much of the log was sent, that the numbers rise on each connection and that
 * nothing expected is missing or splits a transaction.
 */
import { parsePosition } from '../../../src/events/log/position.ts';
import { nextBehind, type Oracle, positionOf, type Track } from './oracle.ts';
import type { Shown } from './questions.ts';
import { changesOf, type Frame } from './subscriber.ts';

const MOST_ISSUES = 3;

/** The case of one subscription of one subscriber, whatever its query. */
export interface Case {
  readonly issues: readonly string[];
  readonly figures: Figures;
  /** A connection begins. */
  begin(since: number | null): void;
  take(frame: Frame): void;
  /** The connection has ended. */
  end(): void;
  /** Nothing more comes. @param stored the final content of the database */
  close(stored: readonly Shown[]): void;
}

export interface Figures {
  reported: number;
  due: number;
  compared: number;
  resumed: number;
  /** How often it started without resuming. */
  begun: number;
  /** Reasons. */
  readonly resets: string[];
}

export abstract class LogCase implements Case {
  readonly issues: string[] = [];
  readonly figures: Figures = { reported: 0, due: 0, compared: 0, resumed: 0, begun: 0, resets: [] };
  protected readonly track: Track;
  protected readonly oracle: Oracle;
  /** Whether this connection got a reset. */
  protected anew = false;
  /** Where the connection resumed; null where it started. */
  protected since: number | null = null;
  /** Everything up to here was sent on this connection; null while unknown. */
  protected cursor: number | null = null;
  /** The newest number sent on this connection. */
  protected last = 0;
  protected live = false;
  /** From this number on the changes of the current stretch count; null before it is known. */
  protected from: number | null = null;
  readonly #reported = new Set<number>();
  /** Up to here everything was sent, on any connection. */
  #reached = 0;

  constructor(track: Track, oracle: Oracle) {
    this.track = track;
    this.oracle = oracle;
  }

  /** Fields of document messages only. */
  protected abstract takeOne(frame: Frame): void;
  /** A change or an event arrives. @param transaction the frame it came in; null if it came alone */
  protected abstract takeChange(change: Frame, transaction: Frame | null): void;
  /** Its number in the log. */
  protected abstract numberIn(change: Frame): number;
  /** The client receives a position. */
  protected abstract stand(number: number): void;

  begin(since: number | null): void {
    this.since = since;
    this.cursor = null;
    this.last = 0;
    this.live = false;
    this.anew = false;
  }

  take(frame: Frame): void {
    switch (frame.type) {
      case 'subscribed':
        if (frame['from'] === 'resume') this.#resume();
        else if (this.since === null) this.figures.begun += 1;
        else if (!this.anew) this.issue(`restarts without a reset after ${this.since}`);
        this.takeOne(frame);
        return;
      case 'reset':
        this.figures.resets.push(String(frame['reason']));
        this.anew = true;
        this.forget();
        return;
      case 'transaction':
        this.#takeTransaction(frame);
        return;
      case 'change':
      case 'event':
        this.#takeAlone(frame);
        return;
      case 'live':
      case 'ping':
        this.#takePlace(frame);
        return;
      case 'unsubscribed':
        if (frame['retryable'] !== true) this.issue(`ended: ${JSON.stringify(frame)}`);
        return;
      default:
        this.takeOne(frame);
    }
  }

  end(): void {
    if (this.cursor !== null) this.#reached = Math.max(this.#reached, this.cursor);
  }

  close(_stored: readonly Shown[]): void {
    this.#sum();
    if (this.#reached < this.oracle.last) this.issue(`is at ${this.#reached} and not at ${this.oracle.last}`);
  }

  /** Everything sent so far is invalid. */
  protected forget(): void {
    this.end();
    this.#sum();
    this.cursor = null;
    this.live = false;
  }

  protected issue(text: string): void {
    if (this.issues.length < MOST_ISSUES) this.issues.push(text);
  }

  /** The message is the next expected one. @param text as the oracle has it */
  protected due(number: number, text: string, joined: boolean): void {
    if (this.cursor === null || this.track.expected === null) return;
    const next = nextBehind(this.track, this.cursor);
    if (next?.number !== number) {
      this.issue(`received ${number} where ${next?.number ?? 'nothing'} comes after ${this.cursor}: ${text}`);
    } else if (next.text !== text) this.issue(`received at ${number}\n  ${text}\nand not\n  ${next.text}`);
    else if ((next.transaction !== null) !== joined) {
      this.issue(`received ${number} ${joined ? 'in' : 'outside of'} a transaction`);
    }
    this.#reported.add(number);
    this.figures.reported += 1;
  }

  #resume(): void {
    this.figures.resumed += 1;
    if (this.since === null) this.issue('resumes from no position');
    this.cursor = this.since;
  }

  #takeTransaction(frame: Frame): void {
    const end = placeIn(frame, 'event');
    const changes = changesOf(frame);
    for (const change of changes) {
      if (this.numberIn(change) > end) this.issue(`a transaction up to ${end} holds ${this.numberIn(change)}`);
      this.#rise(change);
      this.takeChange(change, frame);
    }
    const { expected } = this.track;
    if (expected === null || this.cursor === null) return;
    const at = positionOf(expected, this.cursor);
    const [reported, next] = [expected[at - 1], expected[at]];
    if (reported === undefined || next === undefined || reported.transaction === null) return;
    if (reported.transaction === next.transaction)
      this.issue(`received ${reported.number} without ${next.number} of the same transaction`);
  }

  #takeAlone(frame: Frame): void {
    this.#rise(frame);
    this.takeChange(frame, null);
  }

  #rise(change: Frame): void {
    const number = this.numberIn(change);
    const again = this.track.expected === null && number === this.last;
    if (number <= this.last && !again) this.issue(`received ${number} after ${this.last}`);
    this.last = number;
  }

  #takePlace(frame: Frame): void {
    const number = placeIn(frame, 'position');
    if (frame.type === 'live') {
      // After a reset it restarts at the position of this server, which may be behind that of the previous one.
      const isBack = this.since !== null && !this.anew && number < this.since;
      if (isBack) this.issue(`is live at ${number}, before ${this.since}`);
      this.live = true;
    }
    if (!this.live) return;
    const next = this.cursor === null ? null : nextBehind(this.track, this.cursor);
    if (next !== null && next.number <= number) this.issue(`is at ${number} without having received ${next.number}`);
    this.stand(Math.max(number, this.last));
  }

  /** All connections of a stretch together received everything expected. */
  #sum(): void {
    const { from } = this;
    this.from = null;
    if (from === null || this.track.expected === null) return;
    for (const { number } of this.track.expected.slice(positionOf(this.track.expected, from))) {
      if (number > this.#reached) break;
      this.figures.due += 1;
      if (!this.#reported.has(number)) this.issue(`never received ${number}, on any connection`);
    }
    this.#reported.clear();
  }
}

/** The number of a position; null where it is none. */
export function numberOf(position: unknown): number | null {
  return typeof position === 'string' ? (parsePosition(position)?.number ?? null) : null;
}

/** The number of a position that a frame must have. */
export function placeIn(frame: Frame, field: string): number {
  const number = numberOf(frame[field]);
  if (number === null) throw new TypeError(`${JSON.stringify(frame).slice(0, 200)} has no ${field}`);
  return number;
}
