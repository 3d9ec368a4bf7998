/**
 * Why a call to another server brought no answer: a closed list of kinds, which callers turn into their own verdicts. The
 * message names what was asked for and never an address that was found for it, so that it may be shown to an owner; what
 * happened in detail is the `cause`, for the log alone. Not here: what strangers are told (the routes).
 */

export type EgressKind =
  /** The URL may not be called as it is written; the message says why. */
  | 'refused-url'
  /** The host has no address that may be reached. */
  | 'blocked-address'
  /** The name of the host is not known. */
  | 'unknown-host'
  /** There was no connection, or it broke before the answer was complete. */
  | 'unreachable'
  /** The TLS certificate is not valid for the host, or TLS could not be agreed on. */
  | 'untrusted'
  | 'timeout'
  /** The headers or the body are larger than the caller takes. */
  | 'too-large'
  /** A redirect, where the caller takes none. */
  | 'redirected'
  /** What came is no HTTP, or is encoded in a way that was not asked for. */
  | 'malformed-answer'
  /** Too many calls are under way, to this server or altogether. */
  | 'busy';

export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly kind: EgressKind;

  constructor(kind: EgressKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** Codes of Node and undici, by what they mean here; every other error is `unreachable`. */
const KINDS: readonly (readonly [RegExp, EgressKind])[] = [
  [/^(ENOTFOUND|EAI_AGAIN|EAI_NODATA|EAI_NONAME|ENODATA)$/, 'unknown-host'],
  [/^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/, 'timeout'],
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'too-large'],
  [/^(HPE_\w+|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/, 'malformed-answer'],
  [/CERT|SELF_SIGNED|^UNABLE_TO_|^ERR_TLS_|^ERR_SSL_|^EPROTO$|^HOSTNAME_MISMATCH$/, 'untrusted'],
];

const SENTENCES: Readonly<Record<EgressKind, string>> = {
  'refused-url': 'may not be called',
  'blocked-address': 'has no address that this server may call',
  'unknown-host': 'is a host whose name is not known',
  unreachable: 'did not answer',
  untrusted: 'has no valid TLS certificate for its name',
  timeout: 'did not answer in time',
  'too-large': 'answered with more than is read',
  redirected: 'answered with a redirect, which is not followed',
  'malformed-answer': 'answered with something that is not plain HTTP',
  busy: 'is asked for too often at this moment',
};

/** The error of one kind about one server. */
export function egressError(kind: EgressKind, origin: string, cause?: unknown): EgressError {
  return new EgressError(kind, `${origin} ${SENTENCES[kind]}`, cause);
}

/** Gives an error of Node or undici its kind; one that has a kind stays as it is. */
export function asEgressError(error: unknown, origin: string): EgressError {
  if (error instanceof EgressError) return error;
  // undici's parser leaves its code out for some faults.
  if (error instanceof Error && error.name === 'HTTPParserError') return egressError('malformed-answer', origin, error);
  const code = codeOf(error);
  return egressError(KINDS.find(([codes]) => codes.test(code))?.[1] ?? 'unreachable', origin, error);
}

/** When several addresses were tried there is an error for each; the first one counts. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
