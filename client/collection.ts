/** The documents of one collection: the requests of docs/api.md as methods, and live answers to queries. */
import type { Connection } from './connection.ts';
import type { Stored } from './followed.ts';
import { Live, type LiveState } from './live.ts';
import type { Answered } from './problem.ts';
import { Problem } from './problem.ts';
import type { ListQuery, Query } from './query.ts';
import type { Requests } from './requests.ts';

/** What the server adds to every document. */
export interface Meta {
  readonly revision: number;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly createdBy: string | null;
  readonly updatedBy: string | null;
}

export type Doc<T> = T & { readonly id: string; readonly _meta: Meta };

export interface Page<T> {
  readonly documents: readonly Doc<T>[];
  /** The cursor of the next page, or null. */
  readonly next: string | null;
}

export interface WriteOptions {
  /** The revision that the document must still have; otherwise the Problem `precondition-failed`. */
  readonly ifRevision?: number;
  /** A create that is sent twice with the same key happens once. */
  readonly idempotencyKey?: string;
}

export class Collection<T extends object> {
  readonly #name: string;
  readonly #requests: Requests;
  readonly #connection: Connection;

  constructor(name: string, requests: Requests, connection: Connection) {
    this.#name = name;
    this.#requests = requests;
    this.#connection = connection;
  }

  /** All documents that a query finds, or a page of them with `limit`. */
  async list({ as, ...query }: ListQuery = {}): Promise<Page<T>> {
    const asked = { body: query, headers: as === undefined ? {} : { 'millrace-as': as } };
    const { body, headers } = await this.#requests.send('POST', `${this.#path()}/_query`, asked);
    return { documents: body as Doc<T>[], next: headers.get('millrace-next') };
  }

  /** @throws Problem `document-not-found` */
  async get(id: string): Promise<Doc<T>> {
    return one(await this.#requests.send('GET', this.#path(id)));
  }

  async create(document: T & { readonly id?: string }, { idempotencyKey }: WriteOptions = {}): Promise<Doc<T>> {
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
    return one(await this.#requests.send('POST', this.#path(), { body: document, headers }));
  }

  /** Replaces a whole document. */
  async replace(id: string, document: T, options: WriteOptions = {}): Promise<Doc<T>> {
    return one(
      await this.#requests.send('PUT', this.#path(id), { body: document, headers: await this.#unchanged(id, options) }),
    );
  }

  /** Changes the given members; null removes a member (RFC 7396). */
  async patch(id: string, changes: Readonly<Record<string, unknown>>, options: WriteOptions = {}): Promise<Doc<T>> {
    const headers = { 'content-type': 'application/merge-patch+json', ...(await this.#unchanged(id, options)) };
    return one(await this.#requests.send('PATCH', this.#path(id), { body: changes, headers }));
  }

  async remove(id: string, options: WriteOptions = {}): Promise<void> {
    await this.#requests.send('DELETE', this.#path(id), { headers: await this.#unchanged(id, options) });
  }

  /**
   * Follows the answer to a query: `onState` is called with all documents in order, when the answer is complete and
   * after every change. A lost connection is opened again by itself.
   * @returns a function that ends the live answer
   */
  live(query: Query, onState: (state: LiveState<Doc<T>>) => void): () => void {
    const tell = (state: LiveState<Stored>) => onState(state as LiveState<Doc<T>>);
    return this.#connection.follow((id) => new Live(id, this.#name, query, tell));
  }

  /**
   * An entity tag cannot be computed from a revision. So the document is read, and its tag is used if the document has
   * the expected revision.
   */
  async #unchanged(id: string, { ifRevision }: WriteOptions): Promise<Record<string, string>> {
    if (ifRevision === undefined) return {};
    const { body, headers } = await this.#requests.send('GET', this.#path(id));
    const { _meta } = body as Doc<T>;
    if (_meta.revision === ifRevision) return { 'if-match': headers.get('etag') ?? '*' };
    throw new Problem({
      status: 412,
      code: 'precondition-failed',
      title: `The document has revision ${_meta.revision}, not ${ifRevision}`,
    });
  }

  #path(id?: string): string {
    const path = `/api/${encodeURIComponent(this.#name)}`;
    return id === undefined ? path : `${path}/${encodeURIComponent(id)}`;
  }
}

function one<T>({ body }: Answered): Doc<T> {
  return body as Doc<T>;
}
