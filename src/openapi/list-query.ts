/** Parses the query of the lists of this folder: page size, start and filters. Pure. */
import type { FastifyRequest } from 'fastify';
import { type ErrorCode, MillraceError } from '../lib/errors.ts';
import { parseQueryParameters } from '../lib/request.ts';
import { type ApiResponse, QUERY_PARAMETER_ERRORS } from './operation.ts';
import { PAGE_CURSOR_PARAMETER, pageLimitParameter } from './parameters.ts';
import { arraySchema } from './schema.ts';

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 100;

/** The OpenAPI parameters of a list. */
export const LIST_PARAMETERS = [pageLimitParameter(MAX_LIMIT), PAGE_CURSOR_PARAMETER];

export const LIST_ERRORS: readonly ErrorCode[] = [...QUERY_PARAMETER_ERRORS, 'invalid-parameter'];

/** The OpenAPI response of a list. */
export function listResponse(items: object): Readonly<Record<number, ApiResponse>> {
  return { 200: { description: 'A page.', schema: arraySchema(items), headers: ['Millrace-Next'] } };
}

export interface ListQuery<N extends string> {
  readonly limit: number;
  /** The last one of the previous page; null for the first page. */
  readonly cursor: string | null;
  /** The value of another parameter of the list; null if it is absent. */
  readonly parameterValue: (name: N) => string | null;
}

/**
 * Reads `limit`, `cursor` and the further parameters of a list.
 * @throws MillraceError `unknown-parameter`, `invalid-parameter`
 */
export function parseListQuery<N extends string>(request: FastifyRequest, ...further: readonly N[]): ListQuery<N> {
  const found = parseQueryParameters(request, ['limit', 'cursor', ...further]);
  const text = found.get('limit') ?? String(DEFAULT_LIMIT);
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT) {
    throw new MillraceError('invalid-parameter', `The parameter 'limit' must be a number from 1 to ${MAX_LIMIT}`);
  }
  return { limit, cursor: found.get('cursor'), parameterValue: (name) => found.get(name) };
}
