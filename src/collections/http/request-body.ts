/** Parses the body of a document request, and the write that it describes. Pure. */
import { MillraceError } from '../../lib/errors.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { type RequestLike, requireBody } from '../../lib/request.ts';
import type { TransactionContext } from '../open-transaction.ts';
import { parsePreconditions } from '../store/preconditions.ts';
import type { JsonObject } from '../write/build-document.ts';
import type { WriteContext } from '../write-context.ts';

/** @throws MillraceError `body-required`, `invalid-body-type` */
export function parseObjectBody(request: RequestLike): JsonObject {
  const body = requireBody(request);
  if (isPlainObject(body)) return body;
  throw new MillraceError('invalid-body-type', `The body is ${kindOf(body)}, a JSON object is expected`);
}

/**
 * The elements of a body that is an array, or null when it is none.
 * @throws MillraceError `body-required`, `invalid-body-type`
 */
export function parseArrayBody(request: RequestLike): readonly JsonObject[] | null {
  const body = requireBody(request);
  if (!Array.isArray(body)) return null;
  if (body.length === 0) throw new MillraceError('invalid-body-type', 'The array contains no documents');
  return body.map((item: unknown, index) => {
    if (isPlainObject(item)) return item;
    throw new MillraceError('invalid-body-type', `Element ${index} is ${kindOf(item)}, a JSON object is expected`, {
      issues: [{ pointer: `/${index}`, code: 'invalid-body-type', detail: 'A JSON object is expected' }],
    });
  });
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return `a ${typeof value}`;
}

/**
 * Rejects conditions (`If-Match` and the like) on a request that is not about one document at its own URL. There is no
 * document to compare them with, and the client that sent them relies on them.
 * @throws MillraceError `malformed-request`
 */
export function rejectPreconditions({ headers }: RequestLike): void {
  if (headers['if-match'] === undefined && headers['if-none-match'] === undefined) return;
  throw new MillraceError('malformed-request', 'If-Match and If-None-Match apply only to one document at its own URL');
}

/** The write that a request describes, alone or inside a transaction. */
export function toWriteContext(request: RequestLike, within?: TransactionContext): WriteContext {
  const write = { request: request.id, preconditions: parsePreconditions(request.headers) };
  return within === undefined ? write : { ...write, within };
}
