/**
 * What routes read from a request beside its path: the shape of the body, its media type, query parameters, the write
 * it asks for. Pure. Not here: the members of a body (stored.ts).
 */
import type { FastifyRequest } from 'fastify';
import { isPlain } from '../database/wire-values.ts';
import { MillraceError } from '../kernel/errors.ts';
import type { Within } from './atomic.ts';
import type { Write } from './collections.ts';
import { parsePreconditions } from './preconditions.ts';
import type { JsonObject } from './stored.ts';

/** The part of a request that these functions read. */
export type RequestLike = Pick<FastifyRequest, 'id' | 'url' | 'headers' | 'body'>;

/** @throws MillraceError `body-required`, `body-type` */
export function objectBody(request: RequestLike): JsonObject {
  const body = requireBody(request);
  if (isPlain(body)) return body;
  throw new MillraceError('body-type', `The body is ${kindOf(body)}, a JSON object is expected`);
}

/**
 * The elements of a body that is an array, or null when it is none.
 * @throws MillraceError `body-required`, `body-type`
 */
export function arrayBody(request: RequestLike): readonly JsonObject[] | null {
  const body = requireBody(request);
  if (!Array.isArray(body)) return null;
  if (body.length === 0) throw new MillraceError('body-type', 'The array holds no document');
  return body.map((item: unknown, index) => {
    if (isPlain(item)) return item;
    throw new MillraceError('body-type', `Element ${index} is ${kindOf(item)}, a JSON object is expected`, {
      faults: [{ pointer: `/${index}`, code: 'body-type', detail: 'A JSON object is expected' }],
    });
  });
}

/** The body, whatever its JSON type.
 * @throws MillraceError `body-required`
 */
export function requireBody({ body }: RequestLike): unknown {
  if (body === undefined) {
    throw new MillraceError('body-required', 'A JSON body is required', { hint: 'Content-Type: application/json' });
  }
  return body;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return `a ${typeof value}`;
}

/**
 * Holds the body to the media types of a route.
 * @returns the media type, without parameters
 * @throws MillraceError `unsupported-media-type`, with `Accept-Patch` (RFC 5789 section 2.2) where several are possible
 */
export function requireMediaType<T extends string>(request: RequestLike, types: readonly T[]): T {
  const sent = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  const found = types.find((type) => type === sent);
  if (found !== undefined) return found;
  if (sent === undefined) requireBody(request);
  throw new MillraceError('unsupported-media-type', `The media type '${sent}' is not supported here`, {
    hint: `Send ${types.join(' or ')}`,
    headers: types.length > 1 ? { 'accept-patch': types.join(', ') } : {},
  });
}

/** What follows `?` in the address. */
export function queryText(request: Pick<RequestLike, 'url'>): string {
  const start = request.url.indexOf('?');
  return start < 0 ? '' : request.url.slice(start + 1);
}

/**
 * The query parameters, which must all be known: a parameter that is silently ignored answers another question than
 * the one that was asked.
 * @throws MillraceError `unknown-parameter`
 */
export function parameters(request: RequestLike, known: readonly string[]): URLSearchParams {
  const found = new URLSearchParams(queryText(request));
  for (const name of found.keys()) {
    if (known.includes(name)) continue;
    throw new MillraceError('unknown-parameter', `The parameter '${name.slice(0, 80)}' is not known here`, {
      hint: known.length > 0 ? `Known: ${known.join(', ')}` : 'None is possible here',
    });
  }
  return found;
}

/** A parameter that is true or false; absent is false. */
export function flag(found: URLSearchParams, name: string): boolean {
  const text = found.get(name);
  if (text === null || text === 'false') return false;
  if (text === 'true') return true;
  throw new MillraceError('invalid-parameter', `The parameter '${name}' is true or false`);
}

/** The write that a request asks for, alone or as a part of a transaction. */
export function toWrite(request: RequestLike, within?: Within): Write {
  const write = { request: request.id, preconditions: parsePreconditions(request.headers) };
  return within === undefined ? write : { ...write, within };
}
