/**
 * Target of a write by filter: conditions in the URL, in the query language of lists, and in `Prefer` the number of
 * documents it may affect. Pure. A request without either is rejected, so that a mistake cannot affect a whole
 * collection.
 */
import { MillraceError } from '../../lib/errors.ts';
import { queryString, type RequestLike } from '../../lib/request.ts';
import { parseQuery, RESERVED_PARAMETERS } from '../../query/parse/parse-query.ts';
import { parseQueryString } from '../../query/parse/parse-query-string.ts';
import type { BulkTarget } from '../bulk-filter.ts';
import { parsePrefer } from './prefer.ts';
import { rejectPreconditions } from './request-body.ts';

/** @throws MillraceError `invalid-filter`, `max-affected-required`, `unknown-parameter`, `malformed-request` */
export function parseBulkTarget(request: RequestLike): BulkTarget {
  const conditions = parseQueryString(queryString(request));
  const other = conditions.find(
    ([name]) => name !== 'filter' && RESERVED_PARAMETERS.some((reserved) => reserved === name),
  );
  if (other !== undefined) {
    throw new MillraceError('unknown-parameter', `The parameter '${other[0]}' cannot be used in a write by filter`, {
      hint: `To filter by a field with that name, write ${other[0]}[eq]`,
    });
  }
  rejectPreconditions(request);
  if (conditions.length === 0) {
    throw new MillraceError('invalid-filter', 'A write to many documents needs a filter', {
      hint: 'filter={} selects all documents; to write one document, put its id in the path',
    });
  }
  const { filter } = parseQuery(conditions);
  const { maxAffected } = parsePrefer(request.headers['prefer']);
  if (maxAffected === undefined) {
    throw new MillraceError('max-affected-required', 'A write by filter must limit how many documents it changes', {
      hint: 'Prefer: max-affected=100',
    });
  }
  return { filter, maxAffected };
}
