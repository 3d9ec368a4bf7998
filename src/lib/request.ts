/** Reads parts of a request that any route may need: query parameters, and the media type and encoding of its body. */
import type { FastifyRequest } from 'fastify';
import { MillraceError } from './errors.ts';

/** The used part of a request. */
export type RequestLike = Pick<FastifyRequest, 'id' | 'url' | 'headers' | 'body'>;

/** The body, whatever its JSON type.
 * @throws MillraceError `body-required`
 */
export function requireBody({ body }: RequestLike): unknown {
  if (body === undefined) {
    throw new MillraceError('body-required', 'A JSON body is required', { hint: 'Content-Type: application/json' });
  }
  return body;
}

/** Whether the request has a body, of any type (RFC 9112 section 6.3). */
export function hasBody({ headers }: Pick<RequestLike, 'headers'>): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/**
 * Checks that the body has one of a route's media types.
 * @returns the media type, without parameters
 * @throws MillraceError `unsupported-media-type`, with `Accept-Patch` (RFC 5789 section 2.2) if several are possible
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

/**
 * Rejects a compressed body: it would look damaged, or be stored compressed.
 * @throws MillraceError `unsupported-media-type`, with `Accept-Encoding` (RFC 9110 section 12.5.3)
 */
export function refuseCompressedBody({ headers }: Pick<RequestLike, 'headers'>): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return;
  throw new MillraceError('unsupported-media-type', `The encoding '${encoding.slice(0, 80)}' is not supported here`, {
    hint: 'Send the body without Content-Encoding',
    headers: { 'accept-encoding': 'identity' },
  });
}

/** The part of the URL after `?`. */
export function queryString(request: Pick<RequestLike, 'url'>): string {
  const start = request.url.indexOf('?');
  return start < 0 ? '' : request.url.slice(start + 1);
}

/**
 * The query parameters. Each must be known and given once: ignoring a parameter would return the result of another
 * query.
 * @throws MillraceError `unknown-parameter`, `invalid-parameter`
 */
export function parseQueryParameters(request: RequestLike, known: readonly string[]): URLSearchParams {
  const found = new URLSearchParams(queryString(request));
  for (const name of found.keys()) {
    if (known.includes(name)) {
      if (found.getAll(name).length === 1) continue;
      throw new MillraceError('invalid-parameter', `The parameter '${name}' is given twice`);
    }
    throw new MillraceError('unknown-parameter', `The parameter '${name.slice(0, 80)}' is not known here`, {
      hint: known.length > 0 ? `Known: ${known.join(', ')}` : 'This route has no parameters',
    });
  }
  return found;
}

/** The value of a parameter that is `true` or `false`; false if it is absent. */
export function booleanParameter(found: URLSearchParams, name: string): boolean {
  const text = found.get(name);
  if (text === null || text === 'false') return false;
  if (text === 'true') return true;
  throw new MillraceError('invalid-parameter', `The parameter '${name}' must be true or false`);
}

/**
 * The base URL that the client itself used, with the base path. It is returned to that client only; an invalid
 * authority is replaced.
 */
export function requestBaseUrl({ protocol, host, socket, server }: FastifyRequest): string {
  const authority = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/.test(host ?? '')
    ? host
    : `${socket.localAddress}:${socket.localPort}`;
  return `${protocol}://${authority}${server.basePath ?? ''}`;
}
