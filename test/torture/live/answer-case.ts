/**
 * The case of a subscription to documents: a client as docs/protocol.md describes it, whose answer is compared with the
 * log's wherever it is told where it stands. A snapshot may be ahead of its position; it is right when there is one
 * number whose answer it is, and when what is told behind it begins just there.
 */
import { LogCase, placeIn } from './case.ts';
import { answerOf, changeText, firstWith, type Oracle, plain, sortKey, sumAt, type Track, weight } from './oracle.ts';
import type { DocumentQuestion, Shown } from './questions.ts';
import type { Frame } from './subscriber.ts';

export class AnswerCase extends LogCase {
  readonly #question: DocumentQuestion;
  readonly #held = new Map<string, string>();
  #sum = 0;
  /** Nothing is held that could be gone on with. */
  #void = true;
  /** A snapshot has been told and nothing behind it: it is the answer of a number that is not known, from this one on. */
  #fresh: number | null = null;
  /** What is held is the answer as of here; what is told again before is passed over. */
  #anchor = 0;

  constructor(question: DocumentQuestion, track: Track, oracle: Oracle) {
    super(track, oracle);
    this.#question = question;
  }

  protected takeOne(frame: Frame): void {
    if (frame.type === 'snapshot') this.#takeSnapshot(frame);
    if (frame.type !== 'subscribed') return;
    if (frame['from'] === 'snapshot') this.forget();
    else if (this.#void) this.fault(`goes on from ${this.since} with what it was told to forget`);
  }

  override end(): void {
    this.#settle(null);
    if (this.cursor !== null) this.#anchor = Math.max(this.#anchor, this.cursor);
    super.end();
  }

  override close(stored: readonly Shown[]): void {
    super.close(stored);
    const answer = answerOf(this.#question, stored);
    const sum = answer.reduce((sum, text) => sum + weight(text), 0);
    this.#compare(sum, 'in the end', () => answer);
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
    if (this.#void) this.fault(`was told ${number} before a snapshot`);
    if (this.#fresh !== null) this.#settle(number);
    const reason = op === 'leave' ? `leave ${frame['reason']}` : op;
    this.due(number, changeText(reason, id, document, frame['sortKey']), transaction !== null);
    if (this.track.expected === null) this.#checkMember(number, op, id, document, frame['sortKey']);
    const repeats = number <= this.#anchor || number === this.since;
    if (!repeats && this.#held.has(id) === (op === 'enter'))
      this.fault(`was told ${number}, ${op} of ${id}, against what it has`);
    this.#put(id, op === 'leave' ? null : JSON.stringify(document));
    if (this.track.expected !== null) this.cursor = number;
  }

  protected stand(number: number): void {
    if (this.#fresh !== null) {
      this.figures.compared += 1;
      const from = Math.max(this.#fresh, number);
      if (firstWith(this.track, from, this.#sum) === null) this.fault(`holds no answer from ${from} on`);
      this.#fresh = from;
      return;
    }
    this.cursor = Math.max(this.cursor ?? 0, number);
    if (this.cursor < this.#anchor) return;
    this.#compareAt(this.cursor);
  }

  #takeSnapshot(frame: Frame): void {
    const keys = frame['sortKey'] as unknown[] | undefined;
    for (const [index, told] of (frame['documents'] as Record<string, unknown>[]).entries()) {
      const document = plain(told);
      if (this.#held.has(document.id)) this.fault(`a snapshot has ${document.id} twice`);
      this.#put(document.id, JSON.stringify(document));
      const key = sortKey(this.#question, document);
      if (key !== null && JSON.stringify(key) !== JSON.stringify(keys?.[index]))
        this.fault(`a wrong sort key of ${document.id}`);
    }
    if (frame['last'] !== true) return;
    this.#void = false;
    this.#fresh = placeIn(frame, 'position');
  }

  /** Finds the number whose answer the snapshot is. @param next what is told next; null when the line has ended */
  #settle(next: number | null): void {
    const from = this.#fresh;
    if (from === null) return;
    this.#fresh = null;
    if (next !== null && next <= from) this.fault(`was told ${next} behind ${from}`);
    const at = next === null ? firstWith(this.track, from, this.#sum) : next - 1;
    if (at === null) {
      this.fault(`a snapshot is the answer of no number from ${from} on`);
      return;
    }
    if (next !== null) this.#compareAt(at);
    this.#anchor = at;
    this.from = at;
    this.cursor = next === null ? from : at;
  }

  /** A member of a window as the log has it. */
  #checkMember(number: number, op: string, id: string, document: Shown | null, told: unknown): void {
    this.figures.told += 1;
    if (op === 'leave') return;
    const state = this.oracle.document(this.#question.collection, id, number);
    const is = state !== null && this.#question.matches(state) ? state : null;
    const same = is !== null && JSON.stringify(this.#question.cut(is)) === JSON.stringify(document);
    if (!same)
      this.fault(`was told ${number}, ${op} of ${JSON.stringify(document)}, where there is ${JSON.stringify(is)}`);
    else if (JSON.stringify(sortKey(this.#question, is)) !== JSON.stringify(told ?? null))
      this.fault(`a wrong sort key of ${id}`);
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
    const answer = () => answerOf(this.#question, this.oracle.documents(this.#question.collection, number));
    this.#compare(sumAt(this.track, number), `at ${number}`, answer);
  }

  #compare(sum: number, where: string, answer: () => readonly string[]): void {
    this.figures.compared += 1;
    if (sum === this.#sum) return;
    const [held, due] = [[...this.#held.values()], answer()];
    const surplus = held.filter((text) => !due.includes(text)).slice(0, 2);
    const missing = due.filter((text) => !held.includes(text)).slice(0, 2);
    this.fault(`${where} holds another answer\n  too much: ${surplus}\n  missing: ${missing}`);
  }
}
