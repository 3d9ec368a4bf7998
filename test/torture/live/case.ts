/**
 * What the cases of all subscriptions have in common: how far the log has been told, that the numbers rise on each line
 * and that nothing due is left out or told in parts of a transaction. Not here: the answer (answer-case.ts).
 */
import { parsePosition } from '../../../src/events/log/position.ts';
import { nextBehind, type Oracle, placeOf, type Track } from './oracle.ts';
import type { Shown } from './questions.ts';
import { changesOf, type Frame } from './subscriber.ts';

const MOST_FAULTS = 3;

/** The case of one subscription of one subscriber, whatever it asks. */
export interface Case {
  readonly faults: readonly string[];
  readonly figures: Figures;
  /** A line begins. */
  begin(since: number | null): void;
  take(frame: Frame): void;
  /** The line has ended. */
  end(): void;
  /** Nothing more comes. @param stored what the database holds */
  close(stored: readonly Shown[]): void;
}

export interface Figures {
  told: number;
  due: number;
  compared: number;
  resumed: number;
  /** How often it began without wanting to go on. */
  begun: number;
  /** Reasons. */
  readonly resets: string[];
}

export abstract class LogCase implements Case {
  readonly faults: string[] = [];
  readonly figures: Figures = { told: 0, due: 0, compared: 0, resumed: 0, begun: 0, resets: [] };
  protected readonly track: Track;
  protected readonly oracle: Oracle;
  /** Whether this line was told that it cannot go on from where it was. */
  protected anew = false;
  /** Where the line went on from; null where it began. */
  protected since: number | null = null;
  /** All that is due up to here has been told on this line; null while that is not known. */
  protected cursor: number | null = null;
  /** The newest number told on this line. */
  protected last = 0;
  protected live = false;
  /** Behind this number the changes of the present stretch count; null before it is known. */
  protected from: number | null = null;
  readonly #told = new Set<number>();
  /** Up to here everything has been told, on whatever line. */
  #reached = 0;

  constructor(track: Track, oracle: Oracle) {
    this.track = track;
    this.oracle = oracle;
  }

  /** What only answers have. */
  protected abstract takeOne(frame: Frame): void;
  /** A change or an event is told. @param transaction the frame it came in; null when it came alone */
  protected abstract takeChange(change: Frame, transaction: Frame | null): void;
  /** Its number in the log. */
  protected abstract numberIn(change: Frame): number;
  /** The client stands at a position. */
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
        else if (!this.anew) this.fault(`begins anew without a word behind ${this.since}`);
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
        if (frame['retryable'] !== true) this.fault(`ended: ${JSON.stringify(frame)}`);
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
    if (this.#reached < this.oracle.last) this.fault(`stands at ${this.#reached} and not at ${this.oracle.last}`);
  }

  /** What has been told so far is void. */
  protected forget(): void {
    this.end();
    this.#sum();
    this.cursor = null;
    this.live = false;
  }

  protected fault(text: string): void {
    if (this.faults.length < MOST_FAULTS) this.faults.push(text);
  }

  /** What is told is what comes next. @param text as the oracle has it */
  protected due(number: number, text: string, joined: boolean): void {
    if (this.cursor === null || this.track.expected === null) return;
    const next = nextBehind(this.track, this.cursor);
    if (next?.number !== number) {
      this.fault(`was told ${number} where ${next?.number ?? 'nothing'} comes behind ${this.cursor}: ${text}`);
    } else if (next.text !== text) this.fault(`was told at ${number}\n  ${text}\nand not\n  ${next.text}`);
    else if ((next.transaction !== null) !== joined) {
      this.fault(`was told ${number} ${joined ? 'in' : 'outside of'} a transaction`);
    }
    this.#told.add(number);
    this.figures.told += 1;
  }

  #resume(): void {
    this.figures.resumed += 1;
    if (this.since === null) this.fault('goes on from nowhere');
    this.cursor = this.since;
  }

  #takeTransaction(frame: Frame): void {
    const end = placeIn(frame, 'event');
    const changes = changesOf(frame);
    for (const change of changes) {
      if (this.numberIn(change) > end) this.fault(`a transaction up to ${end} holds ${this.numberIn(change)}`);
      this.#rise(change);
      this.takeChange(change, frame);
    }
    const { expected } = this.track;
    if (expected === null || this.cursor === null) return;
    const at = placeOf(expected, this.cursor);
    const [told, next] = [expected[at - 1], expected[at]];
    if (told === undefined || next === undefined || told.transaction === null) return;
    if (told.transaction === next.transaction) this.fault(`was told ${told.number} without ${next.number}, its like`);
  }

  #takeAlone(frame: Frame): void {
    this.#rise(frame);
    this.takeChange(frame, null);
  }

  #rise(change: Frame): void {
    const number = this.numberIn(change);
    const again = this.track.expected === null && number === this.last;
    if (number <= this.last && !again) this.fault(`was told ${number} after ${this.last}`);
    this.last = number;
  }

  #takePlace(frame: Frame): void {
    const number = placeIn(frame, 'position');
    if (frame.type === 'live') {
      // After a reset it begins anew at the place of this server, which may be behind that of the server before.
      const isBack = this.since !== null && !this.anew && number < this.since;
      if (isBack) this.fault(`is live at ${number}, before ${this.since}`);
      this.live = true;
    }
    if (!this.live) return;
    const next = this.cursor === null ? null : nextBehind(this.track, this.cursor);
    if (next !== null && next.number <= number) this.fault(`stands at ${number} and was not told ${next.number}`);
    this.stand(Math.max(number, this.last));
  }

  /** All lines of a stretch together were told all that was due. */
  #sum(): void {
    const { from } = this;
    this.from = null;
    if (from === null || this.track.expected === null) return;
    for (const { number } of this.track.expected.slice(placeOf(this.track.expected, from))) {
      if (number > this.#reached) break;
      this.figures.due += 1;
      if (!this.#told.has(number)) this.fault(`was never told ${number}, on no line`);
    }
    this.#told.clear();
  }
}

/** The number of a position; null where it is none. */
export function numberOf(position: unknown): number | null {
  return typeof position === 'string' ? (parsePosition(position)?.number ?? null) : null;
}

/** The number of a position that a frame must have. */
export function placeIn(frame: Frame, member: string): number {
  const number = numberOf(frame[member]);
  if (number === null) throw new TypeError(`${JSON.stringify(frame).slice(0, 200)} has no ${member}`);
  return number;
}
