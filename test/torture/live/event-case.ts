/** The case of an event subscription: each event arrives once on a connection, in order, as in the log. */
import { LogCase, numberOf } from './case.ts';
import { eventText, plain } from './oracle.ts';
import type { Shown } from './questions.ts';
import { eventOf, type Frame } from './subscriber.ts';

export class EventCase extends LogCase {
  /** Started now, the first event or `live` will show the position. */
  protected takeOne(frame: Frame): void {
    if (frame['from'] === 'now') this.forget();
  }

  protected numberIn(frame: Frame): number {
    return numberOf(eventOf(frame).id) ?? 0;
  }

  protected takeChange(frame: Frame, transaction: Frame | null): void {
    const number = this.numberIn(frame);
    const { type, documentId, data, before } = eventOf(frame);
    if (this.cursor === null) this.#start(number - 1);
    this.due(number, eventText(String(type), String(documentId), shown(data), shown(before)), transaction !== null);
    this.cursor = number;
  }

  protected stand(number: number): void {
    if (this.cursor === null) this.#start(number);
    this.cursor = Math.max(this.cursor ?? 0, number);
  }

  #start(number: number): void {
    this.cursor = number;
    this.from = number;
  }
}

function shown(state: unknown): Shown | null {
  return typeof state === 'object' && state !== null ? plain(state as Record<string, unknown>) : null;
}
