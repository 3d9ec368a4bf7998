/** Typings of `ctx` and of documents. Lists from closed tables are filled in by typings.ts. */
import {
  MAX_ARGUMENT_BYTES,
  MAX_FETCHES,
  MAX_HOST_OPERATIONS,
  MAX_OPERATION_RESULT_BYTES,
} from '../../sandbox/host-schemas.ts';

const mb = (bytes: number) => `${bytes / 1_048_576} MB`;

export const DOCUMENT_TYPINGS = `
  interface Meta {
    revision: number;
    createdAt: string | null;
    updatedAt: string | null;
    createdBy: string | null;
    updatedBy: string | null;
  }

  /** Fields that the server sets in every document. */
  interface Stored {
    id: string;
    _meta: Meta;
  }

  interface AnyMembers {
    [member: string]: unknown;
  }

  /** The fields of a collection by its name if it is known, otherwise any fields. */
  type Members<C> = C extends keyof Collections ? Collections[C] : C extends object ? C : AnyMembers;

  /** A document of a collection, such as Document<'orders'>, or with the fields of a type. */
  type Document<C = AnyMembers> = Members<C> & Stored;

  /** A document before it is written: a new one may have no id yet. */
  type Draft<C = AnyMembers> = Members<C> & Partial<Stored>;

  /** A document to send: known fields have their types, and others may be added. id and _meta are ignored. */
  type Sent<T> = T extends readonly (infer Item)[]
    ? readonly Sent<Item>[]
    : T extends object
      ? T | ({ readonly [M in keyof T]?: Sent<T[M]> | null } & { readonly [member: string]: unknown })
      : T;

  /** A filter of the query language in JSON: {"done":false,"price":{"$gte":10}}. */
  type Filter = { readonly [member: string]: unknown };

  interface ListOptions {
    filter?: Filter;
    /** '-createdAt,title', or its parts. */
    sort?: string | readonly string[];
    limit?: number;
    /** next of the previous page of the same query. */
    cursor?: string;
    fields?: string | readonly string[];
  }

  interface Page<T> {
    items: T[];
    /** Null on the last page. */
    next: string | null;
  }

  interface WriteOptions {
    /** The entity tag that the current version must have. */
    ifMatch?: string;
  }

  interface ReadableDocuments<C = AnyMembers> {
    list(options?: ListOptions): Promise<Page<Document<C>>>;
    /** Null if there is none that may be read. */
    get(id: string): Promise<Document<C> | null>;
    count(filter?: Filter): Promise<number>;
  }

  interface Documents<C = AnyMembers> extends ReadableDocuments<C> {
    create(document: Sent<Draft<C>>): Promise<Document<C>>;
    replace(id: string, document: Sent<Draft<C>>, options?: WriteOptions): Promise<Document<C>>;
    /** Merge patch: null removes a field. An array is a JSON Patch. */
    patch(id: string, changes: Sent<Draft<C>> | readonly object[], options?: WriteOptions): Promise<Document<C>>;
    /** Update operators: {"$inc":{"views":1}}. */
    update(id: string, operators: Operators, options?: WriteOptions): Promise<Document<C>>;
    remove(id: string, options?: WriteOptions): Promise<void>;
  }
`;

export const CONTEXT_TYPINGS = `
  interface StoredFile {
    id: string;
    url: string;
    name: string;
    type: string;
    size: number;
    [member: string]: unknown;
  }

  interface ReadableFiles {
    /** Null if there is none that may be read. */
    get(id: string): Promise<StoredFile | null>;
    text(id: string): Promise<string>;
    /** At most ${mb(MAX_OPERATION_RESULT_BYTES)}. */
    bytes(id: string): Promise<Uint8Array>;
  }

  interface Files extends ReadableFiles {
    create(file: { name: string; type?: string; body?: string | Bytes | ByteStream | null }): Promise<StoredFile>;
    remove(id: string): Promise<void>;
  }

  interface FetchOptions {
    method?: string;
    headers?: { readonly [name: string]: string } | readonly (readonly [string, string])[];
    body?: string | Bytes | ByteStream | null;
    timeoutMs?: number;
  }

  interface FetchAnswer {
    status: number;
    /** Whether the status is from 200 to 299. */
    ok: boolean;
    /** Names are in lower case. */
    headers: { [name: string]: string };
    text(): Promise<string>;
    json<T = unknown>(): Promise<T>;
    bytes(): Promise<Uint8Array>;
  }

  interface HmacOptions {
    /** Of the result; hex by default. */
    encoding?: 'hex' | 'base64';
    /** How the secret is written; utf8 by default. base64 may begin with whsec_. */
    key?: 'utf8' | 'base64' | 'hex';
  }

  interface VerifiedWebhook {
    /** The same for each attempt of a delivery. */
    readonly id: string;
    readonly sentAt: Date;
  }

  interface Webhooks {
    /**
     * Checks the signature of a webhook (Standard Webhooks, Svix) over the text as it was sent, at most 5 minutes old.
     * Throws a MillraceError: invalid-token (401) for an invalid signature, invalid-parameter for an unusable secret.
     * @param secret the name of a secret of the plugin, or a value that begins with whsec_
     */
    verify(
      headers: { readonly [name: string]: unknown },
      text: string | ArrayBuffer | ArrayBufferView | null,
      secret: string,
    ): Promise<VerifiedWebhook>;
  }

  interface Log {
    info(...values: unknown[]): void;
    warn(...values: unknown[]): void;
    error(...values: unknown[]): void;
  }

  /** The calling principal, as policies see it. */
  interface Principal {
    readonly kind: 'anonymous' | 'user' | 'key' | 'admin' | 'function';
    /** Null for anonymous. */
    readonly id: string | null;
    readonly roles: readonly string[];
    readonly claims: { readonly [name: string]: unknown };
  }

  interface Run {
    readonly id: string;
    /** The same on every attempt: an idempotency key for other servers. */
    readonly key: string;
    /** 1 for the first. */
    readonly attempt: number;
    /** plugin/name. */
    readonly function: string;
    readonly version: string;
  }

  /** Operations that do not write. A call can use ${MAX_HOST_OPERATIONS} operations, ${MAX_FETCHES} of them fetches. */
  interface ReadingContext {
    documents<C extends keyof Collections | (string & {})>(collection: C): ReadableDocuments<C>;
    documents<T extends object>(collection: string): ReadableDocuments<T>;
    readonly files: ReadableFiles;
    /** To a host listed under "fetch" in the manifest. */
    fetch(url: string | URL, options?: FetchOptions): Promise<FetchAnswer>;
    /** HMAC-SHA-256 of a text with the named secret as the key; hex by default. */
    hmac(secret: string, text: string, options?: 'hex' | 'base64' | HmacOptions): Promise<string>;
    readonly webhooks: Webhooks;
    /** The secrets listed in the manifest that an administrator has set. */
    readonly secrets: { readonly [name: string]: string };
    readonly log: Log;
    /** The principal of the function. */
    readonly principal: Principal;
    readonly run: Run;
    now(): Date;
  }

  /** All operations. An argument can have at most ${mb(MAX_ARGUMENT_BYTES)} of JSON, a result ${mb(MAX_OPERATION_RESULT_BYTES)}. */
  interface Context extends ReadingContext {
    documents<C extends keyof Collections | (string & {})>(collection: C): Documents<C>;
    documents<T extends object>(collection: string): Documents<T>;
    readonly files: Files;
    /** Several writes in one transaction, as in POST /batch. */
    batch(operations: readonly object[]): Promise<{ results: AnyMembers[] }>;
    /** Runs a function of the plugin with "job": true once: after some milliseconds, at a time, or immediately. */
    schedule(name: string, input?: unknown, when?: { after?: number; at?: string | Date }): Promise<{ id: string; at: string }>;
  }
`;
