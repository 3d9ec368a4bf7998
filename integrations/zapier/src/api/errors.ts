/**
 * Errors in the words of Zapier. One middleware reads every answer: a problem document (RFC 9457) becomes the error that makes
 * Zapier do the right thing, with its detail and hint as text. Not here: errors of foreign servers, from which files are taken.
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

/** Places of faults that are named at most. */
const MAX_FAULTS = 5;
/** How long Zapier waits when the server does not say it, in seconds. */
const DEFAULT_DELAY = 60;

/** 404 for these is how things are; for others the base URL or the path is wrong. */
const ABSENT = /^(?:document|file|endpoint|sample|run|job)-not-found$|^resource-not-available$/;

/**
 * - 401: the connection has ended; Zapier asks its owner to connect again.
 * - 429, and whatever says when to come again: Zapier repeats the same request then.
 * - 404, 409, 412, 422: this one document cannot be handled; the run halts, and the Zap stays on.
 * - everything else, such as 400 and 403: the Zap or the policies must be changed; Zapier reports an error.
 */
export const readErrors: AfterResponseMiddleware = (response) => {
  const { status } = response;
  const { own = false, tolerated = [] }: Notes = response.request.middlewareData ?? {};
  if (!own || status < 300) return response;
  const { errors } = zapier;
  const problem = problemOf(response);
  if (problem === null) throw new errors.Error(notMillrace(response), 'unexpected-answer', status);
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

/** One or a few sentences for people, with what support needs to find the request. */
function textOf({ title, detail, hint, code, request, errors = [] }: Problem): string {
  const said = [detail ?? title ?? 'Millrace refused the request', hint].filter((text) => text !== undefined);
  const faults = errors
    .filter((fault) => fault.detail !== undefined && fault.detail !== detail)
    .slice(0, MAX_FAULTS)
    .map((fault) => `${fault.pointer || '/'}: ${fault.detail}`);
  const more = errors.length > MAX_FAULTS ? [`and ${errors.length - MAX_FAULTS} more`] : [];
  const sentences = [...said, ...faults, ...more].map((text) => text.replace(/[.\s]+$/, ''));
  return `${sentences.join('. ')}. (${[code, request].filter((text) => text !== undefined).join(', ')})`;
}

function notMillrace({ status, request }: HttpResponse): string {
  return `${request.url ?? 'The base URL'} answered ${status}, but not as Millrace answers. Check the base URL of the connection.`;
}

/** Seconds, from `Retry-After` (RFC 9110, section 10.2.3: a number, or a date). */
function delayOf(response: HttpResponse): number {
  const text = response.getHeader('retry-after') ?? '';
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1_000);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : DEFAULT_DELAY;
}
