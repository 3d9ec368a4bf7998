/**
 * The case of a document subscription: a client as docs/protocol.md describes it, whose result is compared with the
 * log's at every received position. A snapshot may be ahead of its position; it is correct if there is one row number
 * with this result, and if later messages continue exactly there.
 */
import { LogCase, placeIn } from './case.ts';
import { changeText, firstWith, type Oracle, plain, responseOf, sortKey, sumAt, type Track, weight } from './oracle.ts';
import type { DocumentQuery, Shown } from './questions.ts';
import type { Frame } from './subscriber.ts';

export class ResponseCase extends LogCase {
  readonly #query: DocumentQuery;
  readonly #held = new Map<string, string>();
  #sum = 0;
  /** There is no state to continue from. */
  #void = true;
  /** A snapshot has arrived and nothing after it: it is the result of an unknown number, from this one on. */
  #fresh: number | null = null;
  /** The state is the result as of here; repeated earlier messages are ignored. */
  #anchor = 0;

  constructor(query: DocumentQuery, track: Track, oracle: Oracle) {
    super(track, oracle);
    this.#query = query;
  }

  protected takeOne(frame: Frame): void {
    if (frame.type === 'snapshot') this.#takeSnapshot(frame);
    if (frame.type !== 'subscribed') return;
    if (frame['from'] === 'snapshot') this.forget();
    else if (this.#void) this.issue(`resumes from ${this.since} after a reset`);
  }

  override end(): void {
    this.#settle(null);
    if (this.cursor !== null) this.#anchor = Math.max(this.#anchor, this.cursor);
    super.end();
  }

  override close(stored: readonly Shown[]): void {
    super.close(stored);
    const response = responseOf(this.#query, stored);
    const sum = response.reduce((sum, text) => sum + weight(text), 0);
    this.#compare(sum, 'in the end', () => response);
  }

  protected override forget(): void {
    super.forget();
    this.#held.clear();
    this.#sum = 0;
    this.#void = true;
    this.#fresh = null;
    this.#anchor = 0;
  }

  protected numberIn(frame: Frame): number {
    return placeIn(frame, 'event');
  }

  protected takeChange(frame: Frame, transaction: Frame | null): void {
    const number = this.numberIn(frame);
    const op = String(frame['op']);
    const id = String(frame['documentId']);
    const document = frame['document'] ? plain(frame['document'] as Record<string, unknown>) : null;
    if (this.#void) this.issue(`received ${number} before a snapshot`);
    if (this.#fresh !== null) this.#settle(number);
    const reason = op === 'leave' ? `leave ${frame['reason']}` : op;
    this.due(number, changeText(reason, id, document, frame['sortKey']), transaction !== null);
    if (this.track.expected === null) this.#checkField(number, op, id, document, frame['sortKey']);
    const repeats = number <= this.#anchor || number === this.since;
    if (!repeats && this.#held.has(id) === (op === 'enter'))
      this.issue(`received ${number}, ${op} of ${id}, which contradicts its state`);
    this.#put(id, op === 'leave' ? null : JSON.stringify(document));
    if (this.track.expected !== null) this.cursor = number;
  }

  protected stand(number: number): void {
    if (this.#fresh !== null) {
      this.figures.compared += 1;
      const from = Math.max(this.#fresh, number);
      if (firstWith(this.track, from, this.#sum) === null) this.issue(`has no result from ${from} on`);
      this.#fresh = from;
      return;
    }
    this.cursor = Math.max(this.cursor ?? 0, number);
    if (this.cursor < this.#anchor) return;
    this.#compareAt(this.cursor);
  }

  #takeSnapshot(frame: Frame): void {
    const keys = frame['sortKey'] as unknown[] | undefined;
    for (const [index, reported] of (frame['documents'] as Record<string, unknown>[]).entries()) {
      const document = plain(reported);
      if (this.#held.has(document.id)) this.issue(`a snapshot has ${document.id} twice`);
      this.#put(document.id, JSON.stringify(document));
      const key = sortKey(this.#query, document);
      if (key !== null && JSON.stringify(key) !== JSON.stringify(keys?.[index]))
        this.issue(`a wrong sort key of ${document.id}`);
    }
    if (frame['last'] !== true) return;
    this.#void = false;
    this.#fresh = placeIn(frame, 'position');
  }

  /**
   * Finds the number whose result the snapshot is.
   * @param next the next message; null after the end of the connection
   */
  #settle(next: number | null): void {
    const from = this.#fresh;
    if (from === null) return;
    this.#fresh = null;
    if (next !== null && next <= from) this.issue(`received ${next} after ${from}`);
    const at = next === null ? firstWith(this.track, from, this.#sum) : next - 1;
    if (at === null) {
      this.issue(`a snapshot is the result of no number from ${from} on`);
      return;
    }
    if (next !== null) this.#compareAt(at);
    this.#anchor = at;
    this.from = at;
    this.cursor = next === null ? from : at;
  }

  /** An entry of a window as in the log. */
  #checkField(number: number, op: string, id: string, document: Shown | null, reported: unknown): void {
    this.figures.reported += 1;
    if (op === 'leave') return;
    const state = this.oracle.document(this.#query.collection, id, number);
    const is = state !== null && this.#query.matches(state) ? state : null;
    const same = is !== null && JSON.stringify(this.#query.cut(is)) === JSON.stringify(document);
    if (!same)
      this.issue(`received ${number}, ${op} of ${JSON.stringify(document)}, where there is ${JSON.stringify(is)}`);
    else if (JSON.stringify(sortKey(this.#query, is)) !== JSON.stringify(reported ?? null))
      this.issue(`a wrong sort key of ${id}`);
  }

  #put(id: string, text: string | null): void {
    const old = this.#held.get(id);
    if (old !== undefined) this.#sum -= weight(old);
    if (text === null) this.#held.delete(id);
    else {
      this.#held.set(id, text);
      this.#sum += weight(text);
    }
  }

  #compareAt(number: number): void {
    const response = () => responseOf(this.#query, this.oracle.documents(this.#query.collection, number));
    this.#compare(sumAt(this.track, number), `at ${number}`, response);
  }

  #compare(sum: number, where: string, response: () => readonly string[]): void {
    this.figures.compared += 1;
    if (sum === this.#sum) return;
    const [held, due] = [[...this.#held.values()], response()];
    const surplus = held.filter((text) => !due.includes(text)).slice(0, 2);
    const missing = due.filter((text) => !held.includes(text)).slice(0, 2);
    this.issue(`${where} has another result\n  too much: ${surplus}\n  missing: ${missing}`);
  }
}
