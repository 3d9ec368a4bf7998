/** What the lists of this folder read from a URL: how many, from where on, and which ones. Pure. */
import type { FastifyRequest } from 'fastify';
import { type Answer, ASKED_ERRORS } from '../contract/operation.ts';
import { queryParameter } from '../contract/parameters.ts';
import { listOf } from '../contract/schema.ts';
import { type ErrorCode, MillraceError } from '../kernel/errors.ts';
import { parameters } from '../kernel/request.ts';

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 100;

/** The parameters of a list as the contract describes them. */
export const LIST_PARAMETERS = [
  queryParameter('limit', 'The most items of a page.', { type: 'integer', minimum: 1, maximum: MAX_LIMIT }),
  queryParameter('after', 'Where the page begins: the `Millrace-Next` of the page before.'),
];

export const LIST_ERRORS: readonly ErrorCode[] = [...ASKED_ERRORS, 'invalid-parameter'];

/** The answer of a list as the contract describes it. */
export function adminPage(items: object): Readonly<Record<number, Answer>> {
  return { 200: { description: 'A page.', schema: listOf(items), headers: ['Millrace-Next'] } };
}

export interface ListQuery<N extends string> {
  readonly limit: number;
  /** The last one of the page before; null for the first page. */
  readonly after: string | null;
  /** The value of a further parameter of the list; null if it is absent. */
  readonly chosen: (name: N) => string | null;
}

/**
 * Reads `limit`, `after` and the further parameters of a list.
 * @throws MillraceError `unknown-parameter`, `invalid-parameter`
 */
export function parseListQuery<N extends string>(request: FastifyRequest, ...further: readonly N[]): ListQuery<N> {
  const found = parameters(request, ['limit', 'after', ...further]);
  const text = found.get('limit') ?? String(DEFAULT_LIMIT);
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT) {
    throw new MillraceError('invalid-parameter', `The parameter 'limit' must be a number from 1 to ${MAX_LIMIT}`);
  }
  return { limit, after: found.get('after'), chosen: (name) => found.get(name) };
}
