/**
 * Checks whether a client's state at every received position is what the log says, for one of several views. Of the
 * views, those active at the time count, and later ones must follow earlier ones.
 */
import type { Document } from 'mongodb';
import { type LiveQuery, type LogModel, responseTo } from '../../helpers/live/live-model.ts';
import { type Check, numberOf } from '../../helpers/live/live-state.ts';

/** Rows that may be on their way when a snapshot is read. */
const MOST_AHEAD = 200;

/** A view of the documents, and when it was active: milliseconds of the monotonic clock. */
export interface View {
  readonly shows: (documents: readonly Document[]) => readonly Document[];
  readonly from: number;
  /** Until then a client may receive it. */
  readonly to: number;
}

/** Everything, always. */
export const EVERYTHING: readonly View[] = [{ shows: (documents) => documents, from: 0, to: Infinity }];

/** Counts checks by their result. */
export interface Counts {
  compared: number;
  drawn: number;
  ahead: number;
  unknown: number;
}

export class Judge {
  readonly #model: LogModel;
  readonly #known = new Map<number, readonly Document[] | null>();
  readonly #counts: Counts;

  /** @param counts is increased: several judges may share it */
  constructor(model: LogModel, counts: Counts) {
    this.#model = model;
    this.#counts = counts;
  }

  /** What is wrong with the first failed check; null without one. */
  issue(query: LiveQuery, checks: readonly Check[], views: readonly View[] = EVERYTHING): string | null {
    let first = 0;
    /** The snapshot since which the state has been right once. */
    let caughtUp: number | null = null;
    for (const check of checks) {
      const found = this.#view(query, check, views, first);
      if (typeof found !== 'string') {
        first = found;
        if (check.again) caughtUp = check.snapshot;
      } else if (check.again && caughtUp !== check.snapshot) this.#counts.ahead += 1;
      else return found;
    }
    return null;
  }

  /** The first view from `first` on that explains the state. */
  #view(query: LiveQuery, check: Check, views: readonly View[], first: number): number | string {
    const number = numberOf(check.position);
    this.#counts.compared += 1;
    if (this.#at(number) === null) {
      this.#counts.unknown += 1;
      return first;
    }
    const later = this.#model.rows.filter((row) => row.number > number).slice(0, MOST_AHEAD);
    let expected = '';
    /** What is wrong with the order alone; another view may have the same documents in another one. */
    let disorder: string | null = null;
    for (const [index, view] of views.entries()) {
      if (index < first || view.from > check.at || view.to < check.at) continue;
      const response = responseTo(query, view.shows(this.#at(number) ?? []));
      if (response.state === check.state) {
        disorder = this.#disorder(check, response.order);
        if (disorder === null) return index;
        continue;
      }
      expected += `\n${index}: ${response.state}`;
      const isAhead = later.some(({ number }) => {
        const documents = this.#at(number);
        return documents === null || responseTo(query, view.shows(documents)).state === check.state;
      });
      if (!check.fresh || !isAhead) continue;
      this.#counts.ahead += 1;
      return index;
    }
    if (disorder !== null) return disorder;
    const since = check.fresh ? 'since its snapshot' : check.again ? 'after reconnecting' : 'for a while';
    return `at ${check.position}, live ${since}, holds\n${check.state}\nand not${expected}`;
  }

  #disorder({ position, order }: Check, expected: readonly string[] | null): string | null {
    if (order === null || expected === null) return null;
    this.#counts.drawn += 1;
    return order.join() === expected.join() ? null : `at ${position} shows ${order.join()} and not ${expected.join()}`;
  }

  #at(number: number): readonly Document[] | null {
    const known = this.#known.get(number);
    if (known !== undefined) return known;
    const documents = this.#model.documentsAt(number);
    this.#known.set(number, documents);
    return documents;
  }
}
