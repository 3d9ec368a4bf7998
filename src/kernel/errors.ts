/**
 * The closed table of all errors that clients can get, and the one error class, which names a row of it. HTTP problems
 * (RFC 9457), socket messages and batch results all use these codes; `docs/errors.md` is generated from here. Not here:
 * how an error is written to a client (http/errors) and how a vendor's error is translated (its door).
 */

/** What a code means for the client that receives it. */
export interface ErrorRow {
  /** HTTP status code. */
  readonly status: number;
  /** Short human title, the same for every occurrence (RFC 9457 section 3.1.3). */
  readonly title: string;
  /** Whether sending the same request again, unchanged, may succeed. */
  readonly retryable: boolean;
}

const row = (status: number, title: string, retryable = false): ErrorRow => ({ status, title, retryable });

export const ERRORS = {
  'function-limit': row(400, 'A function used more than its limits allow'),
  'malformed-json': row(400, 'The body is not valid JSON'),
  'malformed-request': row(400, 'The request is malformed'),
  'body-required': row(400, 'A body is required'),
  'body-type': row(400, 'The body has the wrong JSON type'),
  'unsupported-key': row(400, 'A member name cannot be stored'),
  'unsupported-value': row(400, 'A value cannot be stored without changing it'),
  'too-deep': row(400, 'The JSON is nested too deeply'),
  'invalid-name': row(400, 'The collection name is not allowed'),
  'invalid-id': row(400, 'The id is not allowed'),
  'unknown-parameter': row(400, 'The query parameter is not known'),
  'invalid-parameter': row(400, 'The query parameter has an invalid value'),
  'unknown-operator': row(400, 'The operator is not known'),
  'invalid-filter': row(400, 'The filter is not valid'),
  'too-expensive': row(400, 'The filter takes too long to answer'),
  'cursor-mismatch': row(400, 'The page cursor belongs to another query'),
  'invalid-patch': row(400, 'The patch is not valid'),
  'invalid-policy': row(400, 'The policy is not valid'),
  'too-many-policies': row(400, 'There are too many policies'),
  'invalid-body': row(400, 'The body does not have the expected form'),
  'invalid-endpoint': row(400, 'The webhook endpoint is not valid'),
  'too-many-endpoints': row(400, 'There are too many webhook endpoints'),
  'invalid-plugin': row(400, 'The plugin is not valid'),
  'too-many-plugins': row(400, 'There are too many plugins'),
  'password-refused': row(400, 'The password cannot be used'),
  'redirect-not-allowed': row(400, 'The redirect is not on the list'),
  'flow-unusable': row(400, 'The sign-in cannot be continued'),
  'invalid-index': row(400, 'The index is not valid'),
  'too-many-documents': row(400, 'There are too many documents in one request'),
  'too-many-operations': row(400, 'There are too many operations in one batch'),
  'unknown-message': row(400, 'The type of the message is not known'),
  'too-many-subscriptions': row(400, 'The connection has too many subscriptions'),
  'too-large': row(400, 'The answer of the subscription is too large'),
  'sort-impossible': row(400, 'The documents cannot be put in this order'),
  'answer-too-large': row(400, 'The answer would be too large'),
  'max-affected-required': row(400, 'A write by filter needs Prefer: max-affected'),
  'not-authenticated': row(401, 'Sign-in is required'),
  'invalid-credential': row(401, 'The credential is not valid'),
  'sign-in-failed': row(401, 'The sign-in failed'),
  'mfa-required': row(401, 'A second factor is required'),
  'fresh-sign-in-required': row(403, 'A fresh sign-in is required'),
  'factor-required': row(403, 'A second factor must be set up first'),
  'registration-closed': row(403, 'Registration is closed'),
  'sign-in-link-off': row(403, 'Sign-in by a letter is off'),
  'provider-denied': row(403, 'The provider did not sign the user in'),
  'provider-account-refused': row(403, 'The account at the provider is not admitted'),
  forbidden: row(403, 'The action is not allowed'),
  'quota-exceeded': row(403, 'The quota is used up'),
  'fetch-not-allowed': row(403, 'The function may not fetch from this address'),
  'policy-revoked': row(403, 'The policies no longer allow it'),
  'subscription-unknown': row(404, 'The subscription does not exist'),
  'field-hidden': row(403, 'A field is hidden by a policy'),
  'field-not-writable': row(403, 'A member may not be set'),
  'resource-not-available': row(404, 'The resource is not available'),
  'file-not-found': row(404, 'The file does not exist'),
  'document-not-found': row(404, 'The document does not exist'),
  'policy-not-found': row(404, 'The policy does not exist'),
  'provider-not-found': row(404, 'The identity provider does not exist'),
  'endpoint-not-found': row(404, 'The webhook endpoint does not exist'),
  'delivery-not-found': row(404, 'The delivery does not exist'),
  'replay-not-found': row(404, 'The replay does not exist'),
  'plugin-not-found': row(404, 'The plugin does not exist'),
  'function-not-found': row(404, 'The function does not exist'),
  'sample-not-found': row(404, 'There is no event of the type to send as a sample'),
  'run-not-found': row(404, 'The run does not exist'),
  'route-not-found': row(404, 'There is nothing at this path'),
  'job-not-found': row(404, 'The job does not exist'),
  'method-not-allowed': row(405, 'The method is not allowed here'),
  'not-acceptable': row(406, 'No acceptable representation exists'),
  'upload-expired': row(408, 'The upload took too long', true),
  'request-timeout': row(408, 'The request took too long to arrive', true),
  'subscription-exists': row(409, 'A subscription with this id exists'),
  'plugin-in-folder': row(409, 'The plugin is in a folder'),
  'endpoint-disabled': row(409, 'The webhook endpoint is disabled'),
  'run-not-repeatable': row(409, 'The run cannot be repeated'),
  'last-owner': row(409, 'There must always be an owner'),
  'factor-exists': row(409, 'The account has a second factor'),
  'factor-not-begun': row(409, 'No second factor was begun'),
  'passkey-refused': row(409, 'The passkey was refused'),
  'passkey-exists': row(409, 'The passkey exists'),
  'too-many-passkeys': row(409, 'The account has too many passkeys'),
  'passkeys-unavailable': row(409, 'Passkeys need a host name'),
  'account-exists': row(409, 'Another account has the address'),
  'identity-taken': row(409, 'The identity belongs to another account'),
  'identity-exists': row(409, 'The account has an identity of the provider'),
  'last-way-in': row(409, 'The account would have no way to sign in'),
  'id-exists': row(409, 'A document with this id exists'),
  'unique-violation': row(409, 'A unique value exists already'),
  'collection-exists': row(409, 'A collection with this name exists'),
  'policy-exists': row(409, 'A policy with this id exists'),
  'provider-exists': row(409, 'An identity provider of this name exists'),
  'index-impossible': row(409, 'The index cannot be built'),
  'patch-test-failed': row(409, 'A test of the patch failed'),
  'too-many-affected': row(409, 'The write would affect too many documents'),
  contention: row(409, 'The document is being changed by too many writers', true),
  'key-in-use': row(409, 'A request with this idempotency key is still running', true),
  'position-expired': row(410, 'The position is no longer kept'),
  'position-unknown': row(410, 'The position is not known'),
  'epoch-changed': row(410, 'The position belongs to an earlier history'),
  'link-unusable': row(410, 'The link cannot be used'),
  'precondition-failed': row(412, 'A precondition does not hold'),
  'file-too-large': row(413, 'The file is too large'),
  'storage-full': row(507, 'There is no space left to store this', true),
  'too-many-parts': row(413, 'The upload has too many parts'),
  'body-too-large': row(413, 'The body is too large'),
  'document-too-large': row(413, 'The document is too large for the database'),
  'uri-too-long': row(414, 'The address is too long'),
  'unsupported-media-type': row(415, 'The media type is not supported'),
  'range-not-satisfiable': row(416, 'The range lies outside of the file'),
  'misdirected-request': row(421, 'The server does not answer under this name'),
  'key-reused': row(422, 'The idempotency key was used for another request'),
  'refused-by-function': row(422, 'A function refused the write'),
  'upgrade-required': row(426, 'This endpoint only accepts WebSocket connections'),
  'rate-limited': row(429, 'Too many requests', true),
  'too-much-held': row(429, 'Too much is held in memory for the client', true),
  'headers-too-large': row(431, 'The request headers are too large'),
  internal: row(500, 'An unexpected error occurred'),
  'function-failed': row(500, 'A function failed'),
  'fetch-failed': row(502, 'The address could not be fetched'),
  'provider-answer-refused': row(502, 'The answer of the provider cannot be trusted'),
  'provider-unavailable': row(503, 'The provider cannot be asked', true),
  'database-unavailable': row(503, 'The database is not available', true),
  'policies-unavailable': row(503, 'The policies cannot be read', true),
  'file-store-unavailable': row(503, 'The store of the file is not available', true),
  'query-timeout': row(503, 'The database took too long', true),
  overloaded: row(503, 'The server is overloaded', true),
  'shutting-down': row(503, 'The server is shutting down', true),
  'functions-off': row(503, 'Functions are switched off'),
  'function-out-of-memory': row(503, 'A function used too much memory'),
  'function-runtime-restarted': row(503, 'The function was interrupted', true),
  'function-unavailable': row(503, 'A function that must check the write has faults'),
  'function-quarantined': row(503, 'The function is in quarantine'),
  'function-timeout': row(504, 'A function took too long'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** One fault inside a request: its place (JSON Pointer, RFC 6901), its code, and a sentence. */
export interface Fault {
  readonly pointer: string;
  readonly code: ErrorCode;
  readonly detail: string;
  /** Of a fault in a text that the request carries: the file and the place in it, from 1. */
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

export interface ErrorOptions {
  /** What the reader could do about it, in one sentence. */
  readonly hint?: string;
  /** The single faults, when there are several or when their place matters. */
  readonly faults?: readonly Fault[];
  /** Headers that belong to this answer, such as `retry-after` or `etag`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members of the problem document (RFC 9457 section 3.2), such as `failedOperation` of a batch. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** What caused it, for the log alone. */
  readonly cause?: unknown;
}

/**
 * The error for everything that a client can be told. Its message is written for the client: a sentence without
 * secrets.
 */
export class MillraceError extends Error {
  override readonly name = 'MillraceError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly faults: readonly Fault[];
  readonly headers: Readonly<Record<string, string>>;
  readonly extensions: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.faults = options.faults ?? [];
    this.headers = options.headers ?? {};
    this.extensions = options.extensions ?? {};
  }

  /** The same error in other words: what is given takes the place of what it has. */
  with({ message = this.message, ...changed }: { readonly message?: string } & ErrorOptions): MillraceError {
    const { faults, headers, extensions } = this;
    const hint = this.hint === undefined ? {} : { hint: this.hint };
    return new MillraceError(this.code, message, { ...hint, faults, headers, extensions, cause: this, ...changed });
  }

  /**
   * The same error, of a part of the request: `pointer` (RFC 6901) is put before the places that it names. If it names
   * none, the part itself is the place.
   */
  at(pointer: string): MillraceError {
    const { code, message: detail } = this;
    const faults = this.faults.length > 0 ? this.faults : [{ pointer: '', code, detail }];
    return this.with({ faults: faults.map((fault) => ({ ...fault, pointer: pointer + fault.pointer })) });
  }

  /** HTTP status of the error's code. */
  get status(): number {
    return ERRORS[this.code].status;
  }
}

/**
 * The faults of one part of a request, when reading it throws them; empty when it does not.
 * @param pointer of the part (RFC 6901). The detail of a fault holds the hint, too
 */
export function faultsAt(pointer: string, read: () => void): readonly Fault[] {
  try {
    read();
    return [];
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    const { message, hint } = error;
    return error.with(hint === undefined ? {} : { message: `${message}. ${hint}` }).at(pointer).faults;
  }
}
