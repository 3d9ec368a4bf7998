/**
 * What a client makes of frames, and what it should have made of them: the state machine of docs/protocol.md, and a
 * model that answers a question from the rows of the log up to a position.
 */
import type { Document } from 'mongodb';
import { toWire } from '../../src/database/json.ts';
import { readStored } from '../../src/database/stored.ts';
import type { LogRow } from '../../src/events/row.ts';
import { bind } from '../../src/query/bind.ts';
import { cut } from '../../src/query/fields.ts';
import { compileMatch } from '../../src/query/match.ts';
import { parseQueryJson } from '../../src/query/parse-query.ts';
import { compareBy } from '../../src/query/sort.ts';
import { identityOf } from '../../src/realtime/row-view.ts';
import type { Frame } from './socket.ts';

/** A question as clients write it. */
export interface LiveQuestion {
  readonly filter?: object;
  readonly sort?: string;
  readonly limit?: number;
  readonly fields?: readonly string[];
}

/** What the client holds of one subscription when it is told where it stands. */
export interface Check {
  readonly position: string;
  readonly state: string;
  /** Whether nothing has been told since the snapshot. */
  readonly fresh: boolean;
}

/** One subscription as its client sees it. */
export class LiveState {
  readonly id: string;
  readonly documents = new Map<string, unknown>();
  readonly checks: Check[] = [];
  readonly faults: string[] = [];
  live = false;
  resets = 0;
  /** Where it would go on. */
  position: string | null = null;
  #fresh = true;
  #last = '';

  constructor(id: string) {
    this.id = id;
  }

  take(frame: Frame): void {
    if (frame.type === 'transaction') {
      const changes = frame['changes'] as Frame[];
      const mine = changes.filter((change) => change['id'] === this.id);
      for (const change of mine) this.#change(change);
      if (mine.length > 0) this.position = String(frame['event']);
    }
    if (frame.type === 'ping' && this.live) this.#stand(String(frame['position']));
    if (frame['id'] !== this.id) return;
    if (frame.type === 'unsubscribed') this.faults.push(JSON.stringify(frame));
    if (frame.type === 'reset' || (frame.type === 'subscribed' && frame['from'] === 'snapshot')) {
      this.documents.clear();
      this.live = false;
      this.#fresh = true;
      if (frame.type === 'reset') this.resets += 1;
    }
    if (frame.type === 'snapshot') {
      for (const document of frame['documents'] as { id: string }[]) this.documents.set(document.id, document);
      if (frame['last'] === true) this.position = String(frame['position']);
    }
    if (frame.type === 'change') {
      this.#change(frame);
      this.position = String(frame['event']);
    }
    if (frame.type === 'live') {
      this.live = true;
      this.#stand(String(frame['position']));
    }
  }

  #change(change: Frame): void {
    this.#fresh = false;
    const event = String(change['event']);
    if (before(event, this.#last)) this.faults.push(`${event} after ${this.#last}`);
    this.#last = event;
    const id = String(change['documentId']);
    if (change['op'] === 'leave') this.documents.delete(id);
    else this.documents.set(id, change['document']);
  }

  #stand(position: string): void {
    this.position = position;
    this.checks.push({ position, state: stateText(this.documents.values()), fresh: this.#fresh });
  }
}

/** Whether a position lies before another one. */
export function before(one: string, other: string): boolean {
  return numberOf(one) < numberOf(other);
}

export const numberOf = (position: string): number => Number(position.split('-')[1] ?? 0);

/**
 * The same for the same documents in whatever order. Without `_meta`: a write that changes nothing else counts a
 * revision and is no event.
 */
export function stateText(documents: Iterable<unknown>): string {
  return [...documents]
    .map((document) => JSON.stringify(document, (name, value: unknown) => (name === '_meta' ? undefined : value)))
    .sort()
    .join('\n');
}

/** The states of a collection along the log. */
export class LogModel {
  readonly #rows: readonly LogRow[];

  constructor(rows: readonly LogRow[]) {
    this.#rows = rows;
  }

  get rows(): readonly LogRow[] {
    return this.#rows;
  }

  /** The documents after all rows up to a number. */
  documentsAt(number: number): Document[] {
    const documents = new Map<string, Document>();
    for (const row of this.#rows) {
      if (row.number > number) break;
      if (row.operation === 'drop') documents.clear();
      if (row.key === null) continue;
      const identity = identityOf(readStored(row.key)['_id']);
      if (row.operation === 'delete') documents.delete(identity);
      else if (row.after !== null) documents.set(identity, readStored(row.after));
    }
    return [...documents.values()];
  }
}

/** The documents that answer a question, as clients see them, in order. */
export function answerTo(question: LiveQuestion, documents: readonly Document[]): unknown[] {
  const query = parseQueryJson(question);
  const { filter } = bind(query.filter, { now: new Date(), user: null });
  const match = compileMatch(filter);
  const found = documents.filter(match).sort(compareBy(query.sort));
  const page = query.limit === null ? found : found.slice(0, query.limit);
  const { fields } = query;
  if (fields === null) return page.map((document) => toWire(document));
  return page.map((document) => toWire(cut(document, fields), { meta: false }));
}
