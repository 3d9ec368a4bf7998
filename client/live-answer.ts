/**
 * The answer to one live question, kept by applying the frames of docs/protocol.md: pure, no socket. A snapshot is
 * gathered aside until it is complete, so that nobody sees half of one.
 */
import { compareBy, type SortKey } from './order.ts';

/** A document as the server shows it. */
export interface Stored {
  readonly id: string;
}

/** A frame of the server; only the members that it has are there. */
export interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly from?: string;
  readonly op?: string;
  readonly documents?: readonly Stored[];
  readonly document?: Stored;
  readonly documentId?: string;
  /** Of one document in a change, of each in a snapshot. */
  readonly sortKey?: SortKey | readonly SortKey[];
  readonly last?: boolean;
  readonly position?: string;
  readonly event?: string;
}

interface Entry {
  readonly document: Stored;
  readonly key: SortKey;
}

export class LiveAnswer {
  readonly #compare: (one: SortKey, other: SortKey) => number;
  #entries = new Map<string, Entry>();
  /** A snapshot on its way. */
  #coming: Map<string, Entry> | null = null;
  #position: string | null = null;
  #live = false;

  /** @param sort as in the query */
  constructor(sort: string) {
    this.#compare = compareBy(sort);
  }

  /** Where to go on from after a break; null when the question has to be asked anew. */
  get position(): string | null {
    return this.#position;
  }

  /** Whether everything is here and changes come as they happen. */
  get live(): boolean {
    return this.#live;
  }

  /** The documents in order. */
  documents(): readonly Stored[] {
    const entries = [...this.#entries.values()];
    entries.sort((one, other) => this.#compare(one.key, other.key));
    return entries.map(({ document }) => document);
  }

  /** The connection is lost: what is here stays, a snapshot that was on its way does not. */
  interrupt(): void {
    this.#live = false;
    this.#coming = null;
  }

  /** Forgets all documents: nobody keeps them right any more. */
  clear(): void {
    this.interrupt();
    this.#entries.clear();
    this.#position = null;
  }

  /** Takes a frame of this subscription. */
  apply(frame: Frame): void {
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

  /** Everything up to this position has been told. */
  passed(position: string): void {
    if (this.#live) this.#position = position;
  }

  #gather({ documents = [], sortKey = [], last, position }: Frame): void {
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

  #change({ op, documentId = '', document, sortKey, event }: Frame): void {
    if (op === 'leave') this.#entries.delete(documentId);
    else if (document !== undefined) this.#entries.set(documentId, { document, key: asKey(sortKey) });
    this.#position = event ?? this.#position;
  }
}

function asKey(key: unknown): SortKey {
  return Array.isArray(key) ? key : [];
}
