/**
 * The closed table of all errors that clients can get, and the one error class, which refers to a row of it. HTTP
 * problems (RFC 9457), socket messages and batch results all use these codes; `docs/errors.md` is generated from here.
 */

/** What a code means for the client that receives it. */
export interface ErrorDefinition {
  /** HTTP status code. */
  readonly status: number;
  /** Short human title, the same for every occurrence (RFC 9457 section 3.1.3). */
  readonly title: string;
  /** Whether sending the same request again, unchanged, may succeed. */
  readonly retryable: boolean;
}

const row = (status: number, title: string, retryable = false): ErrorDefinition => ({ status, title, retryable });

export const ERRORS = {
  'function-limits-exceeded': row(400, 'A running function exceeded a limit of ctx'),
  'malformed-json': row(400, 'The body is not valid JSON'),
  'malformed-request': row(400, 'The request is malformed'),
  'body-required': row(400, 'A body is required'),
  'invalid-body-type': row(400, 'The body has the wrong JSON type'),
  'unsupported-field-name': row(400, 'A field name cannot be stored'),
  'unsupported-value': row(400, 'A value cannot be stored without changing it'),
  'json-too-deep': row(400, 'The JSON is nested too deeply'),
  'invalid-collection-name': row(400, 'The collection name is not allowed'),
  'invalid-id': row(400, 'The id is not allowed'),
  'unknown-parameter': row(400, 'The query parameter is not known'),
  'invalid-parameter': row(400, 'The query parameter has an invalid value'),
  'unknown-operator': row(400, 'The operator is not known'),
  'invalid-filter': row(400, 'The filter is not valid'),
  'filter-too-expensive': row(400, 'The filter is too expensive'),
  'cursor-mismatch': row(400, 'The page cursor belongs to another query'),
  'invalid-patch': row(400, 'The patch is not valid'),
  'invalid-policy': row(400, 'The policy is not valid'),
  'too-many-policies': row(400, 'There are too many policies'),
  'invalid-body': row(400, 'The body is not valid'),
  'invalid-endpoint': row(400, 'The webhook endpoint is not valid'),
  'too-many-endpoints': row(400, 'There are too many webhook endpoints'),
  'invalid-plugin': row(400, 'The plugin is not valid'),
  'too-many-plugins': row(400, 'There are too many plugins'),
  'weak-password': row(400, 'The password is not acceptable'),
  'redirect-not-allowed': row(400, 'The redirect URL is not allowed'),
  'sign-in-expired': row(400, 'The sign-in cannot be continued'),
  'invalid-index': row(400, 'The index is not valid'),
  'too-many-documents': row(400, 'There are too many documents in one request'),
  'too-many-operations': row(400, 'There are too many operations in one batch'),
  'unknown-message': row(400, 'The message type is not known'),
  'too-many-subscriptions': row(400, 'The connection has too many subscriptions'),
  'subscription-result-too-large': row(400, 'The result of the subscription is too large'),
  'sort-not-possible': row(400, 'The documents cannot be sorted in this order'),
  'response-too-large': row(400, 'The response would be too large'),
  'max-affected-required': row(400, 'A write by filter requires Prefer: max-affected'),
  'not-authenticated': row(401, 'Sign-in is required'),
  'invalid-token': row(401, 'The credential is not valid'),
  'invalid-credentials': row(401, 'The sign-in failed'),
  'mfa-required': row(401, 'A second factor is required'),
  'reauthentication-required': row(403, 'Re-authentication is required'),
  'mfa-enrollment-required': row(403, 'A second factor must be set up first'),
  'registration-closed': row(403, 'Registration is closed'),
  'magic-link-disabled': row(403, 'Sign-in by magic link is disabled'),
  'provider-denied': row(403, 'The provider did not sign the user in'),
  'provider-account-not-allowed': row(403, 'The account at the provider is not allowed to sign in'),
  forbidden: row(403, 'The action is not allowed'),
  'quota-exceeded': row(403, 'The quota is exceeded'),
  'fetch-not-allowed': row(403, 'The function is not allowed to fetch this URL'),
  'policy-revoked': row(403, 'The policies no longer allow this'),
  'subscription-not-found': row(404, 'The subscription does not exist'),
  'field-hidden': row(403, 'A field is hidden by a policy'),
  'field-not-writable': row(403, 'A field cannot be set'),
  'resource-not-available': row(404, 'The resource is not available'),
  'file-not-found': row(404, 'The file does not exist'),
  'document-not-found': row(404, 'The document does not exist'),
  'user-not-found': row(404, 'The user does not exist'),
  'api-key-not-found': row(404, 'The API key does not exist'),
  'session-not-found': row(404, 'The session does not exist'),
  'identity-not-found': row(404, 'The user has no identity of the provider'),
  'passkey-not-found': row(404, 'The passkey does not exist'),
  'mfa-not-enrolled': row(404, 'The user has no second factor'),
  'email-template-not-found': row(404, 'The e-mail template does not exist'),
  'policy-not-found': row(404, 'The policy does not exist'),
  'provider-not-found': row(404, 'The identity provider does not exist'),
  'endpoint-not-found': row(404, 'The webhook endpoint does not exist'),
  'delivery-not-found': row(404, 'The delivery does not exist'),
  'replay-not-found': row(404, 'The replay does not exist'),
  'plugin-not-found': row(404, 'The plugin does not exist'),
  'function-not-found': row(404, 'The function does not exist'),
  'event-sample-not-found': row(404, 'There is no event of this type to send as a sample'),
  'run-not-found': row(404, 'The run does not exist'),
  'route-not-found': row(404, 'No route exists at this path'),
  'scheduled-job-not-found': row(404, 'The job does not exist'),
  'method-not-allowed': row(405, 'The method is not allowed here'),
  'not-acceptable': row(406, 'No acceptable representation exists'),
  'upload-timeout': row(408, 'The upload took too long', true),
  'request-timeout': row(408, 'The request took too long to arrive', true),
  'subscription-exists': row(409, 'A subscription with this id already exists'),
  'plugin-in-folder': row(409, 'The plugin is in a folder'),
  'endpoint-disabled': row(409, 'The webhook endpoint is disabled'),
  'rerun-not-possible': row(409, 'The run cannot be started again'),
  'last-owner': row(409, 'There must always be an administrator with the role owner'),
  'mfa-already-enrolled': row(409, 'The user already has a second factor'),
  'mfa-enrollment-not-started': row(409, 'The enrollment of a second factor was not started'),
  'invalid-passkey': row(409, 'The passkey was rejected'),
  'passkey-exists': row(409, 'The passkey already exists'),
  'too-many-passkeys': row(409, 'The user has too many passkeys'),
  'passkeys-unavailable': row(409, 'Passkeys need a host name'),
  'username-taken': row(409, 'The user name is taken'),
  'email-taken': row(409, 'The e-mail address is taken'),
  'identity-taken': row(409, 'The identity belongs to another user'),
  'identity-exists': row(409, 'The user already has an identity of the provider'),
  'last-sign-in-method': row(409, 'The user would have no way to sign in'),
  'id-exists': row(409, 'A document with this id already exists'),
  'unique-violation': row(409, 'A unique value already exists'),
  'collection-exists': row(409, 'A collection with this name already exists'),
  'policy-exists': row(409, 'A policy with this id already exists'),
  'provider-exists': row(409, 'An identity provider with this name already exists'),
  'index-build-failed': row(409, 'The index cannot be built'),
  'patch-test-failed': row(409, 'A test of the patch failed'),
  'too-many-affected': row(409, 'The write would affect too many documents'),
  'write-conflict': row(409, 'The document is being changed by too many writers', true),
  'idempotency-key-in-use': row(409, 'A request with this idempotency key is still running', true),
  'position-expired': row(410, 'The position is no longer available'),
  'position-unknown': row(410, 'The position is not known'),
  'epoch-changed': row(410, 'The position belongs to an earlier epoch'),
  'link-expired': row(410, 'The link cannot be used'),
  'precondition-failed': row(412, 'A precondition does not hold'),
  'file-too-large': row(413, 'The file is too large'),
  'storage-full': row(507, 'There is no storage space left', true),
  'too-many-parts': row(413, 'The upload has too many parts'),
  'body-too-large': row(413, 'The body is too large'),
  'document-too-large': row(413, 'The document is too large for the database'),
  'uri-too-long': row(414, 'The URL is too long'),
  'unsupported-media-type': row(415, 'The media type is not supported'),
  'range-not-satisfiable': row(416, 'The range is outside the file'),
  'misdirected-request': row(421, 'The server does not serve this host'),
  'idempotency-key-reused': row(422, 'The idempotency key was used for another request'),
  'rejected-by-function': row(422, 'A function rejected the write'),
  'upgrade-required': row(426, 'This path only accepts WebSocket connections'),
  'rate-limited': row(429, 'Too many requests', true),
  'client-memory-exceeded': row(429, 'The memory limit of the client is exceeded', true),
  'headers-too-large': row(431, 'The request headers are too large'),
  internal: row(500, 'An unexpected error occurred'),
  'function-failed': row(500, 'A function failed'),
  'fetch-failed': row(502, 'The URL could not be fetched'),
  'provider-response-invalid': row(502, 'The response of the provider is not valid'),
  'provider-unavailable': row(503, 'The provider is not available', true),
  'database-unavailable': row(503, 'The database is not available', true),
  'policies-unavailable': row(503, 'The policies cannot be read', true),
  'file-store-unavailable': row(503, 'The file store is not available', true),
  'query-timeout': row(503, 'The database took too long', true),
  overloaded: row(503, 'The server is overloaded', true),
  'shutting-down': row(503, 'The server is shutting down', true),
  'functions-disabled': row(503, 'Functions are disabled'),
  'function-out-of-memory': row(503, 'A function used too much memory'),
  'function-runtime-restarted': row(503, 'The function was interrupted', true),
  'write-hook-unavailable': row(503, 'A write hook cannot run because its plugin has errors'),
  'function-quarantined': row(503, 'The function is in quarantine'),
  'function-timeout': row(504, 'A function timed out'),
} as const satisfies Record<string, ErrorDefinition>;

export type ErrorCode = keyof typeof ERRORS;

/** One error inside a request: its JSON Pointer (RFC 6901), its code, and a sentence. */
export interface Issue {
  readonly pointer: string;
  readonly code: ErrorCode;
  readonly detail: string;
  /** For an error in a text of the request: the file and the position in it, from 1. */
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

export interface ErrorOptions {
  /** How to fix it, in one sentence. */
  readonly hint?: string;
  /** The single errors, if there are several or if their location matters. */
  readonly issues?: readonly Issue[];
  /** Headers of this response, such as `retry-after` or `etag`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Further fields of the problem document (RFC 9457 section 3.2), such as `failedOperation` of a batch. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** The cause, for the log only. */
  readonly cause?: unknown;
}

/**
 * The error for everything that is reported to a client. Its message is written for the client: a sentence without
 * secrets.
 */
export class MillraceError extends Error {
  override readonly name = 'MillraceError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly issues: readonly Issue[];
  readonly headers: Readonly<Record<string, string>>;
  readonly extensions: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.issues = options.issues ?? [];
    this.headers = options.headers ?? {};
    this.extensions = options.extensions ?? {};
  }

  /** The same error with some options replaced. */
  with({ message = this.message, ...changed }: { readonly message?: string } & ErrorOptions): MillraceError {
    const { issues, headers, extensions } = this;
    const hint = this.hint === undefined ? {} : { hint: this.hint };
    return new MillraceError(this.code, message, { ...hint, issues, headers, extensions, cause: this, ...changed });
  }

  /**
   * The same error, of a part of the request: `pointer` (RFC 6901) is prepended to its JSON Pointers. If it has none,
   * the part itself is the location.
   */
  at(pointer: string): MillraceError {
    const { code, message: detail } = this;
    const issues = this.issues.length > 0 ? this.issues : [{ pointer: '', code, detail }];
    return this.with({ issues: issues.map((issue) => ({ ...issue, pointer: pointer + issue.pointer })) });
  }

  /** HTTP status of the error's code. */
  get status(): number {
    return ERRORS[this.code].status;
  }
}

/**
 * The errors of one part of a request, if reading it throws any.
 * @param pointer of the part (RFC 6901). The detail of an error contains the hint, too
 */
export function catchIssues(pointer: string, read: () => void): readonly Issue[] {
  try {
    read();
    return [];
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    const { message, hint } = error;
    return error.with(hint === undefined ? {} : { message: `${message}. ${hint}` }).at(pointer).issues;
  }
}
