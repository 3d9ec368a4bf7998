/** The response to a failed request: a problem document (RFC 9457). Pure. */
import { type ErrorCode, MillraceError } from '../lib/errors.ts';
import { type ProblemFields, problemFields } from '../lib/problem.ts';

export const PROBLEM_CONTENT_TYPE = 'application/problem+json; charset=utf-8';

/** The problem document of one failed request. */
export interface ProblemDocument extends ProblemFields {
  /** Path of the request, without its query. */
  readonly instance: string;
  /** The request id, also in `X-Request-Id`. */
  readonly request: string;
}

/** Converts an error for the client. */
export function toProblemDocument(error: MillraceError, url: string, request: string): ProblemDocument {
  const instance = url.split('?', 1)[0] ?? url;
  return { ...error.extensions, ...problemFields(error), instance, request };
}

/** Fastify's own errors, as codes and messages of the closed table. */
const FRAMEWORK: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported-media-type', 'The media type of the body is not supported here'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['malformed-request', 'The body does not have the announced length'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['body-required', 'The body is empty'],
  FST_ERR_BAD_URL: ['malformed-request', 'The URL is not valid'],
  FST_ERR_MAX_PARAM_LENGTH: ['uri-too-long', 'A part of the URL is longer than this server accepts'],
  FST_ERR_VALIDATION: ['malformed-request', 'The request does not match its schema'],
};

/**
 * Turns any thrown value into a Millrace error; an unexpected one becomes `internal` and reveals nothing.
 * @param bodyBytes the largest body of a request; outside of a request an error never says that a body was too large
 * @param isSet whether the settings define how large a body may be
 */
export function toMillraceError(error: unknown, bodyBytes = 0, isSet = true): MillraceError {
  if (error instanceof MillraceError) return error;
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const set = isSet ? '; MILLRACE_MAX_BODY_BYTES sets the limit' : '';
    const hint = `Send it in several requests, or large values as files${set}`;
    return new MillraceError('body-too-large', `The body has more than ${bodyBytes} bytes`, { hint, cause: error });
  }
  const known = FRAMEWORK[code];
  if (known) return new MillraceError(known[0], known[1], { cause: error });
  // Unlisted errors of the framework are still the client's error if they have such a status.
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  if (code.startsWith('FST_') && typeof status === 'number' && status >= 400 && status < 500) {
    return new MillraceError('malformed-request', 'The request cannot be parsed', { cause: error });
  }
  return new MillraceError('internal', 'An unexpected error occurred', { cause: error });
}
