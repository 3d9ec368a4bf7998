/** Parses the body of a document request, and the write that it describes. Pure. */
import { MillraceError } from '../../lib/errors.ts';
import { isPlain } from '../../lib/plain-object.ts';
import { type RequestLike, requireBody } from '../../lib/request.ts';
import type { OpenTransaction } from '../open-transaction.ts';
import { parsePreconditions } from '../store/preconditions.ts';
import type { JsonObject } from '../write/next-document.ts';
import type { Write } from '../write-context.ts';

/** @throws MillraceError `body-required`, `invalid-body-type` */
export function objectBody(request: RequestLike): JsonObject {
  const body = requireBody(request);
  if (isPlain(body)) return body;
  throw new MillraceError('invalid-body-type', `The body is ${kindOf(body)}, a JSON object is expected`);
}

/**
 * The elements of a body that is an array, or null when it is none.
 * @throws MillraceError `body-required`, `invalid-body-type`
 */
export function arrayBody(request: RequestLike): readonly JsonObject[] | null {
  const body = requireBody(request);
  if (!Array.isArray(body)) return null;
  if (body.length === 0) throw new MillraceError('invalid-body-type', 'The array contains no documents');
  return body.map((item: unknown, index) => {
    if (isPlain(item)) return item;
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
export function refuseConditions({ headers }: RequestLike): void {
  if (headers['if-match'] === undefined && headers['if-none-match'] === undefined) return;
  throw new MillraceError('malformed-request', 'If-Match and If-None-Match apply only to one document at its own URL');
}

/** The write that a request describes, alone or inside a transaction. */
export function toWrite(request: RequestLike, within?: OpenTransaction): Write {
  const write = { request: request.id, preconditions: parsePreconditions(request.headers) };
  return within === undefined ? write : { ...write, within };
}
