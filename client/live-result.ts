/**
 * The documents of one live query, kept up to date by applying the frames of docs/protocol.md. Pure, without a socket. A snapshot
 * is collected separately until it is complete, so the application never sees half of one.
 */
import type { StoredDocument, SubscriptionFrame } from './live-subscription.ts';
import { type SortKey, sortKeyComparator } from './sort-keys.ts';

interface Entry {
  readonly document: StoredDocument;
  readonly key: SortKey;
}

export class LiveResult {
  readonly #compare: (one: SortKey, other: SortKey) => number;
  #entries = new Map<string, Entry>();
  /** The snapshot that is arriving; null if there is none. */
  #coming: Map<string, Entry> | null = null;
  #position: string | null = null;
  #live = false;

  /** @param sort the query's sort */
  constructor(sort: string) {
    this.#compare = sortKeyComparator(sort);
  }

  /** The position to resume from after a disconnect; null if the query must be sent again from the start. */
  get position(): string | null {
    return this.#position;
  }

  /** Whether the result is complete and changes arrive as they happen. */
  get live(): boolean {
    return this.#live;
  }

  /** The documents in order. */
  documents(): readonly StoredDocument[] {
    const entries = [...this.#entries.values()];
    entries.sort((one, other) => this.#compare(one.key, other.key));
    return entries.map(({ document }) => document);
  }

  /** Call it when the connection is lost: documents are kept, but an incomplete snapshot is dropped. */
  interrupt(): void {
    this.#live = false;
    this.#coming = null;
  }

  /** Drops all documents: they are no longer kept up to date. */
  clear(): void {
    this.interrupt();
    this.#entries.clear();
    this.#position = null;
  }

  /** Applies a frame of this subscription. */
  apply(frame: SubscriptionFrame): void {
    switch (frame.type) {
      case 'subscribed':
        if (frame.from !== 'snapshot') return;
        this.#coming = new Map();
        this.#position = null;
        return;
      case 'snapshot':
        this.#gather(frame);
        return;
      case 'change':
        this.#change(frame);
        return;
      case 'live':
        this.#live = true;
        this.#position = frame.position ?? this.#position;
        return;
      case 'reset':
        this.#live = false;
        this.#position = null;
        return;
    }
  }

  /** Records that all changes up to this position have arrived. */
  passed(position: string): void {
    if (this.#live) this.#position = position;
  }

  #gather({ documents = [], sortKey = [], last, position }: SubscriptionFrame): void {
    const coming = this.#coming ?? new Map<string, Entry>();
    documents.forEach((document, index) => {
      coming.set(document.id, { document, key: asKey(sortKey[index]) });
    });
    this.#coming = coming;
    if (last !== true) return;
    this.#entries = coming;
    this.#coming = null;
    this.#position = position ?? null;
  }

  #change({ op, documentId = '', document, sortKey, event }: SubscriptionFrame): void {
    if (op === 'leave') this.#entries.delete(documentId);
    else if (document !== undefined) this.#entries.set(documentId, { document, key: asKey(sortKey) });
    if (typeof event === 'string') this.#position = event;
  }
}

function asKey(key: unknown): SortKey {
  return Array.isArray(key) ? key : [];
}
