/** The documents of one collection: the requests of docs/api.md as methods, and live queries. */
import type { Connection } from './connection.ts';
import type { HttpClient } from './http-client.ts';
import { LiveQuery, type LiveState } from './live-query.ts';
import type { StoredDocument } from './live-subscription.ts';
import type { ClientResponse } from './problem.ts';
import { MillraceError } from './problem.ts';
import type { ListQuery, Query } from './query.ts';

/** The fields that the server adds to every document. */
export interface DocumentMeta {
  readonly revision: number;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly createdBy: string | null;
  readonly updatedBy: string | null;
}

export type Doc<T> = T & { readonly id: string; readonly _meta: DocumentMeta };

export interface Page<T> {
  readonly documents: readonly Doc<T>[];
  /** The cursor of the next page, or null. */
  readonly next: string | null;
}

export interface WriteOptions {
  /** The revision that the document must still have; otherwise the MillraceError `precondition-failed`. */
  readonly ifRevision?: number;
  /** Idempotency key: a create that is sent twice with the same key happens once. */
  readonly idempotencyKey?: string;
}

export class Collection<T extends object> {
  readonly #name: string;
  readonly #requests: HttpClient;
  readonly #connection: Connection;

  constructor(name: string, requests: HttpClient, connection: Connection) {
    this.#name = name;
    this.#requests = requests;
    this.#connection = connection;
  }

  /** All documents that match a query, or a page of them with `limit`. */
  async list({ as, ...query }: ListQuery = {}): Promise<Page<T>> {
    const requested = { body: query, headers: as === undefined ? {} : { 'millrace-as': as } };
    const { body, headers } = await this.#requests.send('POST', `${this.#path()}/_query`, requested);
    return { documents: body as Doc<T>[], next: headers.get('millrace-next') };
  }

  /** @throws MillraceError `document-not-found` */
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

  /** Changes the given fields; null removes a field (RFC 7396). */
  async patch(id: string, changes: Readonly<Record<string, unknown>>, options: WriteOptions = {}): Promise<Doc<T>> {
    const headers = { 'content-type': 'application/merge-patch+json', ...(await this.#unchanged(id, options)) };
    return one(await this.#requests.send('PATCH', this.#path(id), { body: changes, headers }));
  }

  async remove(id: string, options: WriteOptions = {}): Promise<void> {
    await this.#requests.send('DELETE', this.#path(id), { headers: await this.#unchanged(id, options) });
  }

  /**
   * Follows the result of a query: `onState` is called with all documents in order, when the result is complete and after every
   * change. A lost connection reconnects automatically.
   * @returns a function that ends the live query
   */
  live(query: Query, onState: (state: LiveState<Doc<T>>) => void): () => void {
    const report = (state: LiveState<StoredDocument>) => onState(state as LiveState<Doc<T>>);
    return this.#connection.follow((id) => new LiveQuery(id, this.#name, query, report));
  }

  /**
   * An entity tag cannot be derived from a revision. So the document is read, and its tag is used if the document has the
   * expected revision.
   */
  async #unchanged(id: string, { ifRevision }: WriteOptions): Promise<Record<string, string>> {
    if (ifRevision === undefined) return {};
    const { body, headers } = await this.#requests.send('GET', this.#path(id));
    const { _meta } = body as Doc<T>;
    if (_meta.revision === ifRevision) return { 'if-match': headers.get('etag') ?? '*' };
    throw new MillraceError({
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

function one<T>({ body }: ClientResponse): Doc<T> {
  return body as Doc<T>;
}
