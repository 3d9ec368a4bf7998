/**
 * Errors in the terms of Zapier. One middleware reads every response: a problem document (RFC 9457) becomes the error class with
 * the intended effect in Zapier, with its detail and hint as text.
 */
import zapier, { type AfterResponseMiddleware, type HttpResponse } from 'zapier-platform-core';
import type { Notes } from './requests.ts';

interface Problem {
  readonly code?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly hint?: string;
  readonly request?: string;
  readonly errors?: readonly { readonly pointer?: string; readonly detail?: string }[];
}

/** Maximum number of listed errors. */
const MAX_ISSUES = 5;
/** Zapier's delay if the server does not specify one, in seconds. */
const DEFAULT_DELAY = 60;

/** For these, 404 is a normal result; for others the base URL or the path is wrong. */
const ABSENT = /^(?:document|file|endpoint|sample|run|job)-not-found$|^resource-not-available$/;

/**
 * - 401: the connection has expired; Zapier asks its owner to reconnect.
 * - 429, and responses with `Retry-After`: Zapier repeats the same request then.
 * - 404, 409, 412, 422: this one document cannot be handled; the run halts, and the Zap stays on.
 * - everything else, such as 400 and 403: the Zap or the policies must be changed; Zapier reports an error.
 */
export const readErrors: AfterResponseMiddleware = (response) => {
  const { status } = response;
  const { own = false, tolerated = [] }: Notes = response.request.middlewareData ?? {};
  if (!own || status < 300) return response;
  const { errors } = zapier;
  const problem = problemOf(response);
  if (problem === null) throw new errors.Error(notMillrace(response), 'unexpected-response', status);
  const isAbsent = status === 404 && ABSENT.test(problem.code ?? '');
  if (tolerated.includes(status) && (isAbsent || status !== 404)) return response;
  const text = textOf(problem);
  if (status === 401) throw new errors.ExpiredAuthError(text);
  if (status === 429 || response.getHeader('retry-after')) throw new errors.ThrottledError(text, delayOf(response));
  if (isAbsent || status === 409 || status === 412 || status === 422) throw new errors.HaltedError(text);
  throw new errors.Error(text, problem.code, status);
};

function problemOf(response: HttpResponse): Problem | null {
  const type = response.getHeader('content-type') ?? '';
  const { data } = response;
  return type.startsWith('application/problem+json') && typeof data === 'object' && data !== null ? data : null;
}

/** One or a few sentences for people, with the request id for support. */
function textOf({ title, detail, hint, code, request, errors = [] }: Problem): string {
  const said = [detail ?? title ?? 'Millrace rejected the request', hint].filter((text) => text !== undefined);
  const issues = errors
    .filter((issue) => issue.detail !== undefined && issue.detail !== detail)
    .slice(0, MAX_ISSUES)
    .map((issue) => `${issue.pointer || '/'}: ${issue.detail}`);
  const more = errors.length > MAX_ISSUES ? [`and ${errors.length - MAX_ISSUES} more`] : [];
  const sentences = [...said, ...issues, ...more].map((text) => text.replace(/[.\s]+$/, ''));
  return `${sentences.join('. ')}. (${[code, request].filter((text) => text !== undefined).join(', ')})`;
}

function notMillrace({ status, request }: HttpResponse): string {
  return `${request.url ?? 'The base URL'} responded with ${status}, but not like Millrace. Check the base URL of the connection.`;
}

/** Seconds, from `Retry-After` (RFC 9110, section 10.2.3: a number, or a date). */
function delayOf(response: HttpResponse): number {
  const text = response.getHeader('retry-after') ?? '';
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1_000);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : DEFAULT_DELAY;
}
