/**
 * The query string of an address as a list of names and values, decoded strictly: bytes that are not UTF-8 are refused,
 * not replaced. Not here: what the names mean (parse-query.ts).
 */
import { MillraceError } from '../../kernel/errors.ts';
import { LIMITS } from '../limits.ts';

export type QueryParameter = readonly [name: string, value: string];

/**
 * Reads `application/x-www-form-urlencoded`: pairs in the order they were written, `+` is a space.
 * @param search what follows `?` in an address, with or without the `?`
 * @throws MillraceError `malformed-request`, `invalid-parameter` over the number of parameters
 */
export function readParameters(search: string): readonly QueryParameter[] {
  const pairs = search.replace(/^\?/, '').split('&', LIMITS.parameters + 1);
  if (pairs.length > LIMITS.parameters) {
    throw new MillraceError('invalid-parameter', `An address has at most ${LIMITS.parameters} parameters`, {
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
    throw new MillraceError('malformed-request', `The address contains '${text.slice(0, 60)}', which is not UTF-8`, {
      hint: "A literal '%' is written %25.",
    });
  }
}
