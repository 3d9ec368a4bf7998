/**
 * What the routes of documents read from a request besides its path: the shape of the body, and the write it asks for.
 * Pure. Not here: what all routes read (kernel/request.ts) and the members of a body (next-document.ts).
 */
import { MillraceError } from '../../kernel/errors.ts';
import { isPlain } from '../../kernel/objects.ts';
import { type RequestLike, requireBody } from '../../kernel/request.ts';
import type { JsonObject } from '../change/next-document.ts';
import type { OpenTransaction } from '../open-transaction.ts';
import { parsePreconditions } from '../store/preconditions.ts';
import type { Write } from '../write.ts';

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

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return `a ${typeof value}`;
}

/**
 * Refuses conditions (`If-Match` and the like) on a request that is not about one document at its own address. There is
 * no document to compare them with, and the client that sent them relies on them.
 * @throws MillraceError `malformed-request`
 */
export function refuseConditions({ headers }: RequestLike): void {
  if (headers['if-match'] === undefined && headers['if-none-match'] === undefined) return;
  throw new MillraceError('malformed-request', 'If-Match and If-None-Match are for one document at its own address');
}

/** The write that a request asks for, alone or as a part of a transaction. */
export function toWrite(request: RequestLike, within?: OpenTransaction): Write {
  const write = { request: request.id, preconditions: parsePreconditions(request.headers) };
  return within === undefined ? write : { ...write, within };
}
