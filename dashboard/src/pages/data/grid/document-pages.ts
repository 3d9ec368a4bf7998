/**
 * A long list that is read page by page while the user scrolls, and follows changes. Each page starts at a cursor,
 * which is a position in the order of the list and stays right whatever is created or deleted. So each page can be read
 * again separately: from its own position up to that of the next one. Only visible pages are read again after a change;
 * the others when they come into view.
 */

export type GridDocument = Readonly<Record<string, unknown>> & { readonly id: string };

export interface DocumentPage {
  readonly documents: readonly GridDocument[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
  /** The server's hint about this list; null for none. */
  readonly hint: string | null;
}

type ReadPage = (cursor: string | null, limit: number) => Promise<DocumentPage>;

interface Part {
  readonly cursor: string | null;
  readonly limit: number;
  documents: readonly GridDocument[];
  next: string | null;
  isStale: boolean;
  /** When it was read, by `performance.now()`. */
  readAt: number;
}

const PAGE = 200;
/** When the user drags the scroll bar far down. Also the server's maximum for one request. */
const FAR_PAGE = 1_000;
/** Minimum interval for reading a page that changes continuously, in milliseconds. */
const PAUSE_MS = 200;
/** How long a changed row is highlighted, in milliseconds. */
const MARK_MS = 1_600;

export class DocumentPages {
  /** All documents read so far, in order. */
  rows: readonly GridDocument[] = [];
  isComplete = false;
  error: unknown = null;
  /** The newest hint about this list. */
  hint: string | null = null;
  /** Ids of documents that have just changed or appeared. */
  marked: ReadonlySet<string> = new Set();
  /** Grows with each change, for React. */
  version = 0;
  readonly #read: ReadPage;
  #parts: Part[] = [];
  #first = 0;
  #last = 0;
  #working = false;
  #closed = false;
  readonly #listeners = new Set<() => void>();

  constructor(read: ReadPage) {
    this.#read = read;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /**
   * Changes seldom, so that what is around the grid is not drawn again with each page: the error, or the hint and the
   * size of the list.
   */
  get situation(): unknown {
    if (this.error !== null) return this.error;
    const fill = this.rows.length > 0 ? 'filled' : this.isComplete ? 'empty' : 'reading';
    return `${fill} ${this.hint ?? ''}`;
  }

  /** Reports the visible rows. Missing ones are read, and outdated ones are read again. */
  show(first: number, last: number): void {
    this.#first = first;
    this.#last = last;
    void this.#work();
  }

  /** Reports that something in the collection has changed. */
  changed(): void {
    for (const part of this.#parts) part.isStale = true;
    void this.#work();
  }

  /** Retries after an error. */
  again(): void {
    this.error = null;
    this.#report();
    void this.#work();
  }

  close(): void {
    this.#closed = true;
  }

  open(): void {
    this.#closed = false;
    void this.#work();
  }

  /** One request after another until all visible rows are loaded and current. */
  async #work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    try {
      while (!this.#closed && this.error === null && (await this.#step()));
    } catch (error) {
      this.error = error;
      this.#report();
    } finally {
      this.#working = false;
    }
  }

  /** @returns whether there was something to do */
  async #step(): Promise<boolean> {
    const stale = this.#staleVisible();
    if (stale !== undefined) {
      const wait = stale.readAt + PAUSE_MS - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      await this.#refresh(stale);
      return true;
    }
    if (this.isComplete || this.rows.length > this.#last + PAGE) return false;
    await this.#readNext();
    return true;
  }

  #staleVisible(): Part | undefined {
    let start = 0;
    for (const part of this.#parts) {
      const end = start + part.documents.length;
      // Empty pages may have received documents.
      if (part.isStale && start <= this.#last && end >= this.#first) return part;
      start = end;
    }
    return undefined;
  }

  async #readNext(): Promise<void> {
    const cursor = this.#parts.at(-1)?.next ?? null;
    const limit = this.#last > this.rows.length + FAR_PAGE ? FAR_PAGE : PAGE;
    const part: Part = { cursor, limit, documents: [], next: null, isStale: false, readAt: performance.now() };
    const { documents, next, hint } = await this.#read(cursor, limit);
    Object.assign(part, { documents, next });
    this.hint = hint ?? this.hint;
    this.#parts.push(part);
    this.#put();
  }

  /** Reads a page again, up to the first document after the position at which the next page starts. */
  async #refresh(part: Part): Promise<void> {
    const following = this.#parts[this.#parts.indexOf(part) + 1];
    part.isStale = false;
    part.readAt = performance.now();
    const limit = following === undefined ? part.limit : FAR_PAGE;
    const [page, behind] = await Promise.all([
      this.#read(part.cursor, limit),
      following === undefined ? null : this.#read(following.cursor, 1),
    ]);
    if (part === this.#parts[0]) this.hint = page.hint;
    const before = part.documents;
    const at = this.#parts.indexOf(part);
    const end = behind?.documents[0]?.id;
    const cut = end === undefined ? -1 : page.documents.findIndex(({ id }) => id === end);
    if (cut >= 0) {
      part.documents = page.documents.slice(0, cut);
    } else {
      part.documents = page.documents;
      part.next = page.next;
      // There is nothing after it, or so many documents were inserted that the pages in between are read again.
      this.#parts.length = at + 1;
    }
    this.#mark(before, part.documents);
    this.#put();
  }

  #put(): void {
    this.rows = this.#parts.flatMap(({ documents }) => documents);
    this.isComplete = this.#parts.length > 0 && this.#parts.at(-1)?.next === null;
    this.#report();
  }

  #mark(before: readonly GridDocument[], after: readonly GridDocument[]): void {
    const known = new Map(before.map((document) => [document.id, JSON.stringify(document)]));
    const fresh = after.filter((document) => known.get(document.id) !== JSON.stringify(document)).map(({ id }) => id);
    if (fresh.length === 0) return;
    this.marked = new Set([...this.marked, ...fresh]);
    setTimeout(() => {
      this.marked = new Set([...this.marked].filter((id) => !fresh.includes(id)));
      this.#report();
    }, MARK_MS);
  }

  #report(): void {
    this.version += 1;
    for (const listener of this.#listeners) listener();
  }
}
