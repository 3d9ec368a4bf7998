/**
 * Why a call to another server got no response: a closed list of kinds, which callers map to their own errors. The
 * message contains the requested host and never a resolved IP address, so that it may be shown to an administrator;
 * details are in the `cause`, for the log only.
 */

export type EgressErrorKind =
  /** The URL as written must not be called; the message says why. */
  | 'blocked-url'
  /** The host has no permitted IP address. */
  | 'blocked-ip'
  /** The host name does not resolve. */
  | 'unknown-host'
  /** There was no connection, or it broke before the response was complete. */
  | 'unreachable'
  /** The TLS certificate is not valid for the host, or the TLS handshake failed. */
  | 'untrusted'
  | 'timeout'
  /** The headers or the body are larger than the caller accepts. */
  | 'response-too-large'
  /** A redirect, where the caller accepts none. */
  | 'redirected'
  /** The response is not HTTP, or its content does not match its encoding. */
  | 'invalid-response'
  /** Too many calls are in progress, to this server or in total. */
  | 'busy';

export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly kind: EgressErrorKind;

  constructor(kind: EgressErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** Node and undici error codes by kind; every other error is `unreachable`. */
const KINDS: readonly (readonly [RegExp, EgressErrorKind])[] = [
  [/^(ENOTFOUND|EAI_AGAIN|EAI_NODATA|EAI_NONAME|ENODATA)$/, 'unknown-host'],
  [/^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/, 'timeout'],
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'response-too-large'],
  [/^(HPE_\w+|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/, 'invalid-response'],
  [/CERT|SELF_SIGNED|^UNABLE_TO_|^ERR_TLS_|^ERR_SSL_|^EPROTO$|^HOSTNAME_MISMATCH$/, 'untrusted'],
];

const SENTENCES: Readonly<Record<EgressErrorKind, string>> = {
  'blocked-url': 'must not be called',
  'blocked-ip': 'has no IP address that this server is allowed to call',
  'unknown-host': 'is a host that cannot be resolved',
  unreachable: 'did not respond',
  untrusted: 'has no valid TLS certificate for its name',
  timeout: 'did not respond in time',
  'response-too-large': 'responded with too many bytes',
  redirected: 'responded with a redirect, which is not followed',
  'invalid-response': 'responded with something that is not plain HTTP',
  busy: 'is requested too often at the moment',
};

/** The error of one kind about one server. */
export function egressError(kind: EgressErrorKind, origin: string, cause?: unknown): EgressError {
  return new EgressError(kind, `${origin} ${SENTENCES[kind]}`, cause);
}

/** Maps an error of Node or undici to its kind; an EgressError stays as it is. */
export function asEgressError(error: unknown, origin: string): EgressError {
  if (error instanceof EgressError) return error;
  // undici's parser omits its code for some errors.
  if (error instanceof Error && error.name === 'HTTPParserError') return egressError('invalid-response', origin, error);
  const code = codeOf(error);
  return egressError(KINDS.find(([codes]) => codes.test(code))?.[1] ?? 'unreachable', origin, error);
}

/** If several IP addresses failed there is an error for each; the first one counts. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
