/** How documents leave in the answer to a read: the codec's bytes, the entity tag. Not here: writes (write-response.ts). */
import { Readable } from 'node:stream';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { encodeList, ListEncoder } from '../../database/json/json.ts';
import { AT_ONCE_BYTES, begun, boundedChunks, CHUNK_BYTES, inPieces } from '../../kernel/answers/chunks.ts';
import type { ClosableIterator } from '../../kernel/concurrency/closable-iterator.ts';
import type { LongAnswer } from '../../policies/standing/long-answers.ts';
import { pageLinks } from '../../query/page/page-links.ts';
import type { HintedList } from '../lists.ts';
import type { Expand } from '../read/expansion.ts';
import { JSON_TYPE } from './write-response.ts';

/** What a list of all there is holds: its batches are of about this size. */
const LIST_BYTES = 1_048_576;

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/** The answer to a HEAD whose length is not known here. Without this, Fastify would send a length of 0. */
export function sendHead(reply: FastifyReply): FastifyReply {
  return reply.send(Readable.from([]));
}

/**
 * Begins an answer that is sent over some time and holds this many bytes in memory until then.
 * @throws MillraceError `too-much-held`, `overloaded`
 */
export type Begin = (bytes: number) => LongAnswer;

/**
 * Sends JSON that is complete in memory.
 * @throws MillraceError as `begin`
 */
export function sendJson(reply: FastifyReply, body: Buffer, begin: Begin): FastifyReply {
  reply.type(JSON_TYPE);
  if (body.length <= AT_ONCE_BYTES || reply.request.method === 'HEAD') return reply.send(body);
  // In several pieces: with a single one we could not see how fast the client reads.
  const pieces = begin(body.length).allowed(inPieces(body));
  return reply.header('content-length', body.length).send(Readable.from(pieces, { objectMode: false }));
}

export interface ListShape {
  /** Whether `_meta` is shown. */
  readonly meta: boolean;
  /** Adds expanded documents; without it the codec's plain way is used. */
  readonly expand?: Expand;
  /** Bytes of the whole answer at most. */
  readonly most: number;
  readonly begin: Begin;
}

/**
 * A list as one JSON array, written as fast as the client reads and no faster. The next page's address stands in `Link`
 * (RFC 8288), and its bare cursor in `Millrace-Next`.
 * @throws MillraceError `answer-too-large`, `too-much-held`, `overloaded`, while nothing has been sent
 */
export function sendList(
  reply: FastifyReply,
  list: HintedList,
  shape: ListShape,
): FastifyReply | Promise<FastifyReply> {
  describe(reply, list);
  const { documents } = list;
  const { meta, expand } = shape;
  if (!('next' in documents) && expand === undefined && byteLength(documents) <= AT_ONCE_BYTES) {
    // A small page is sent as one piece: a stream would cost more than everything else in the request.
    return sendJson(reply, encodeList(documents, { meta }), shape.begin);
  }
  const batches = 'next' in documents ? documents : inOne(documents);
  const size = new HeldBytes('next' in documents ? LIST_BYTES : byteLength(documents));
  if (reply.request.method === 'HEAD') {
    // Fastify would read the whole list only to throw it away.
    close(batches);
    return sendHead(reply.type(JSON_TYPE));
  }
  const measured = size.measured(batches);
  const hold = (bytes: number) => size.found(bytes);
  const chunks = expand === undefined ? encoded(measured, meta) : expanded(measured, (batch) => expand(batch, hold));
  return sendChunks(reply, batches, boundedChunks(chunks, shape.most), { size, begin: shape.begin });
}

/**
 * The first chunk is made before anything is sent. So an error in it still gets a proper status, and a short list is
 * sent as one piece.
 */
async function sendChunks(
  reply: FastifyReply,
  batches: ClosableIterator<readonly Uint8Array[]>,
  chunks: AsyncGenerator<Buffer>,
  { size, begin }: { readonly size: HeldBytes; readonly begin: Begin },
): Promise<FastifyReply> {
  try {
    const body = await begun(chunks);
    if ('whole' in body) return sendJson(reply, body.whole, begin);
    const answer = begin(size.bytes);
    size.tell(answer);
    const stream = Readable.from(answer.allowed(body.chunks), { objectMode: false });
    // The client may have gone before the first chunk was asked for: then the generator never runs and closes nothing.
    stream.once('close', () => close(batches));
    return reply.type(JSON_TYPE).send(stream);
  } catch (error) {
    close(batches);
    throw error;
  }
}

/**
 * The memory that a list holds, in bytes: the batch that is being sent (counted as at least the size assumed at the
 * beginning) and the documents found for its expansions.
 */
class HeldBytes {
  readonly #least: number;
  #answer: LongAnswer | null = null;
  #batch: number;
  #found = 0;

  constructor(least: number) {
    this.#least = least;
    this.#batch = least;
  }

  get bytes(): number {
    return this.#batch + this.#found;
  }

  tell(answer: LongAnswer): void {
    this.#answer = answer;
  }

  /** Sets the size of the expanded documents found last; they take the place of those found before. */
  found(bytes: number): void {
    this.#found = bytes;
    this.#answer?.resize(this.bytes);
  }

  /** The same batches, each of them counted before it is sent. */
  async *measured(batches: ClosableIterator<readonly Uint8Array[]>): AsyncGenerator<readonly Uint8Array[]> {
    for await (const batch of batches) {
      this.#batch = Math.max(this.#least, byteLength(batch));
      this.#answer?.resize(this.bytes);
      yield batch;
    }
  }
}

function byteLength(documents: readonly Uint8Array[]): number {
  return documents.reduce((sum, { length }) => sum + length, 0);
}

async function* inOne<T>(batch: readonly T[]): AsyncGenerator<readonly T[]> {
  yield batch;
}

/** Ends the reading of a list. A cursor that cannot be closed now is closed by the database later. */
function close(batches: ClosableIterator<readonly Uint8Array[]>): void {
  batches.return(undefined).catch(() => undefined);
}

function describe(reply: FastifyReply, { next, prev, count, hints }: HintedList): void {
  if (hints.length > 0) reply.header('millrace-hint', inAscii(hints.join(' ')));
  if (count !== null) reply.header('millrace-count', count.value).header('millrace-count-kind', count.kind);
  if (next !== null) reply.header('millrace-next', next);
  // A `_query` request has no address at which the list could go on.
  const links = reply.request.method === 'POST' ? null : pageLinks(reply.request.url, { next, prev });
  if (links !== null) reply.header('link', links);
}

/** A header holds visible ASCII: other characters are written as JSON escapes them. */
function inAscii(text: string): string {
  const escaped = (code: string) => `\\u${code.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(/[^\x20-\x7e]/g, escaped);
}

async function* expanded(
  batches: AsyncIterable<readonly Uint8Array[]>,
  expand: (batch: readonly Uint8Array[]) => AsyncIterable<readonly Buffer[]>,
): AsyncGenerator<Buffer> {
  let chunk: Buffer[] = [];
  let bytes = 0;
  let before = OPEN;
  for await (const batch of batches) {
    for await (const document of expand(batch)) {
      for (const piece of [before, ...document]) {
        if (bytes > 0 && bytes + piece.length > CHUNK_BYTES) {
          yield inOnePiece(chunk);
          chunk = [];
          bytes = 0;
          await otherWork();
        }
        chunk.push(piece);
        bytes += piece.length;
      }
      before = COMMA;
    }
  }
  yield inOnePiece([...chunk, ...(before === OPEN ? [OPEN] : []), CLOSE]);
}

/** A large piece is passed on alone, without a copy. */
function inOnePiece(pieces: readonly Buffer[]): Buffer {
  const [only] = pieces;
  return only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces);
}

async function* encoded(batches: AsyncIterable<readonly Uint8Array[]>, meta: boolean): AsyncGenerator<Buffer> {
  const encoder = new ListEncoder({ meta });
  for await (const batch of batches) {
    for (const raw of batch) {
      const chunk = encoder.append(raw);
      if (chunk === null) continue;
      yield chunk;
      // Other requests get their turn between the chunks of a batch.
      await otherWork();
    }
  }
  yield encoder.end();
}
