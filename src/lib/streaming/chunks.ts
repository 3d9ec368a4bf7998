/**
 * The chunks of a response body: a limit on all of them together, chunks of a limited size, and a prepared beginning.
 */
import { MillraceError } from '../errors.ts';

/** Up to this size a response is sent in one piece: a stream would cost more than the rest of the request. */
export const MAX_UNSTREAMED_BYTES = 262_144;
/** Size of the chunks of a long response. */
export const CHUNK_BYTES = 65_536;

/**
 * The same bytes in chunks of a limited size: while a large chunk is sent, the server cannot measure how fast it is
 * read.
 * @param most maximum bytes of all chunks together
 * @throws MillraceError `response-too-large`
 */
export async function* limitChunks(chunks: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let left = most;
  for await (const chunk of chunks) {
    left -= chunk.length;
    if (left < 0) {
      throw new MillraceError('response-too-large', `The response has more than ${most} bytes`, {
        hint: 'Read it in pages, with limit and the cursor from Millrace-Next',
      });
    }
    if (chunk.length <= 2 * CHUNK_BYTES) yield chunk;
    else yield* splitIntoChunks(chunk);
  }
}

export function* splitIntoChunks(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += CHUNK_BYTES) yield body.subarray(at, at + CHUNK_BYTES);
}

/** A body that is short enough to be sent in one piece, or all of its chunks. */
export type BufferedOrStreamedBody = { readonly whole: Buffer } | { readonly chunks: AsyncGenerator<Buffer> };

/** Prepares the beginning of a body before anything is sent: if that fails, the client can still get an error. */
export async function prepareBody(chunks: AsyncGenerator<Buffer>): Promise<BufferedOrStreamedBody> {
  const first: Buffer[] = [];
  for (let bytes = 0; bytes <= MAX_UNSTREAMED_BYTES; ) {
    const step = await chunks.next();
    if (step.done) return { whole: first[0] !== undefined && first.length === 1 ? first[0] : Buffer.concat(first) };
    first.push(step.value);
    bytes += step.value.length;
  }
  return { chunks: joined(first, chunks) };
}

async function* joined<T>(first: Iterable<T>, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield* first;
  yield* rest;
}
