/**
 * The query string of a URL as a list of names and values, decoded strictly: bytes that are not UTF-8 are rejected, not
 * replaced.
 */
import { MillraceError } from '../../lib/errors.ts';
import { QUERY_LIMITS } from '../limits.ts';

export type QueryParameter = readonly [name: string, value: string];

/**
 * Parses `application/x-www-form-urlencoded`: pairs in their order, `+` is a space.
 * @param search the part of a URL after `?`, with or without the `?`
 * @throws MillraceError `malformed-request`, `invalid-parameter` over the number of parameters
 */
export function parseQueryString(search: string): readonly QueryParameter[] {
  const pairs = search.replace(/^\?/, '').split('&', QUERY_LIMITS.parameters + 1);
  if (pairs.length > QUERY_LIMITS.parameters) {
    throw new MillraceError('invalid-parameter', `A URL has at most ${QUERY_LIMITS.parameters} parameters`, {
      hint: 'Send a long query as JSON to POST …/_query.',
    });
  }
  return pairs.filter((pair) => pair !== '').map(readPair);
}

function readPair(pair: string): QueryParameter {
  const equals = pair.indexOf('=');
  return equals < 0 ? [decode(pair), ''] : [decode(pair.slice(0, equals)), decode(pair.slice(equals + 1))];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new MillraceError('malformed-request', `The URL contains '${text.slice(0, 60)}', which is not UTF-8`, {
      hint: "A literal '%' is written %25.",
    });
  }
}
