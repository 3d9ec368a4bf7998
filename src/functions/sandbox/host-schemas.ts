/**
 * JSON schemas of the host operations: arguments that the code inside the sandbox sends, and results that it receives. Arguments
 * come from untrusted code, so every operation checks them.
 */
import type { HostOperation } from './sandbox.ts';

/** A JSON object whose fields the code chose. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Host operations of one call. The next one fails inside with `function-limits-exceeded`. */
export const MAX_HOST_OPERATIONS = 200;
/** Fetches among them. */
export const MAX_FETCHES = 10;
/** Concurrent operations of one call; further ones are queued inside. */
export const MAX_CONCURRENT_OPERATIONS = 8;
/** Log lines of one call; the rest is dropped. */
export const MAX_LOG_LINES = 200;
/** Log bytes of one call. */
export const MAX_LOG_BYTES = 65_536;
/** Bytes of one argument, as JSON text. */
export const MAX_ARGUMENT_BYTES = 1_048_576;
/** Bytes of one result, as JSON text. A longer one fails inside with `function-limits-exceeded`. */
export const MAX_OPERATION_RESULT_BYTES = 5 * 1_048_576;
/** Bytes of a result that contains base64 (`files.bytes` and `fetch`): 5 MB of bytes, and the JSON around them. */
export const MAX_OPERATION_BASE64_BYTES = 7 * 1_048_576;

/** `list`: the query of a collection, in JSON. */
export interface ListDocumentsArgument {
  readonly collection: string;
  /** The filter in its JSON form; all documents without it. */
  readonly filter?: JsonObject;
  /** As the parameter `sort` of the API: `-createdAt,title`. */
  readonly sort?: string;
  readonly limit?: number;
  /** `next` of an earlier result of the same query. */
  readonly cursor?: string;
  /** As the parameter `fields` of the API: comma-separated names. */
  readonly fields?: string;
}

export interface DocumentArgument {
  readonly collection: string;
  readonly id: string;
}

/** A precondition for a write: the entity tag that the current version must have, `"…"` as in `If-Match`. */
interface Conditional {
  readonly ifMatch?: string;
}

/** The arguments of the operations. Fields that the code omitted, or set to undefined, are absent. */
export interface HostArguments {
  readonly 'documents.list': ListDocumentsArgument;
  readonly 'documents.get': DocumentArgument;
  readonly 'documents.count': { readonly collection: string; readonly filter?: JsonObject };
  readonly 'documents.create': { readonly collection: string; readonly document: JsonObject };
  readonly 'documents.replace': DocumentArgument & { readonly document: JsonObject } & Conditional;
  /** `changes` is a merge patch (RFC 7396), or an array for a JSON Patch (RFC 6902). */
  readonly 'documents.patch': DocumentArgument & { readonly changes: JsonObject | readonly unknown[] } & Conditional;
  /** `operators` as in the API's PATCH with operators: `{"$inc": {"n": 1}}`. */
  readonly 'documents.update': DocumentArgument & { readonly operators: JsonObject } & Conditional;
  readonly 'documents.remove': DocumentArgument & Conditional;
  /** The operations of `POST /batch`, as they are. */
  readonly batch: { readonly operations: readonly unknown[] };
  readonly 'files.get': { readonly id: string };
  readonly 'files.text': { readonly id: string };
  readonly 'files.bytes': { readonly id: string };
  /** The body is `text` (UTF-8) or `base64`, exactly one of them. */
  readonly 'files.create': {
    readonly name: string;
    readonly type?: string;
    readonly text?: string;
    readonly base64?: string;
  };
  readonly 'files.remove': { readonly id: string };
  /** The body is `text` (UTF-8) or `base64`, or absent. */
  readonly ['fetch']: {
    readonly url: string;
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly text?: string;
    readonly base64?: string;
    readonly timeoutMs?: number;
  };
  /** HMAC-SHA-256 of `text` (UTF-8) with the named secret as the key, decoded as `key` says; UTF-8 by default. */
  readonly hmac: {
    readonly secret: string;
    readonly text: string;
    readonly encoding?: 'hex' | 'base64';
    readonly key?: 'utf8' | 'base64' | 'hex';
  };
  /** `after` in milliseconds, or `at` as an ISO date; immediately without both. `input` is null if there is none. */
  readonly schedule: {
    readonly name: string;
    readonly input: unknown;
    readonly after?: number;
    readonly at?: string;
  };
}

/** The results of the operations. */
export interface HostResults {
  /** As a REST list with its envelope; `next` is null on the last page. */
  readonly 'documents.list': { readonly items: readonly JsonObject[]; readonly next: string | null };
  /** Null if there is none that the principal may read. */
  readonly 'documents.get': JsonObject | null;
  readonly 'documents.count': number;
  /** The document after the write, as a GET would return it. */
  readonly 'documents.create': JsonObject;
  readonly 'documents.replace': JsonObject;
  readonly 'documents.patch': JsonObject;
  readonly 'documents.update': JsonObject;
  readonly 'documents.remove': null;
  /** As the response of `POST /batch`. */
  readonly batch: { readonly results: readonly JsonObject[] };
  /** The document of the file; null if there is none that the principal may read. */
  readonly 'files.get': JsonObject | null;
  /** The content as UTF-8. */
  readonly 'files.text': string;
  /** The content as base64. */
  readonly 'files.bytes': string;
  /** The document of the new file. */
  readonly 'files.create': JsonObject;
  readonly 'files.remove': null;
  /** Names of headers are in lower case. */
  readonly ['fetch']: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly base64: string;
  };
  /** Lower-case hexadecimal by default, or base64. */
  readonly hmac: string;
  /** `at` is an ISO date. */
  readonly schedule: { readonly id: string; readonly at: string };
}

/** The maximum bytes of an operation's result, as JSON text. */
export function maxResultBytes(operation: HostOperation): number {
  return operation === 'files.bytes' || operation === 'fetch' ? MAX_OPERATION_BASE64_BYTES : MAX_OPERATION_RESULT_BYTES;
}
