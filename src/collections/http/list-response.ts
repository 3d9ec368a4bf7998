/** How documents leave in the answer to a read: the codec's bytes, the entity tag. Not here: writes (write-response.ts). */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { encodeList, ListEncoder } from '../../database/json/json.ts';
import type { List, Steps } from '../read/listing.ts';
import { JSON_TYPE } from './write-response.ts';

/** Up to this size of its documents, a page is encoded and sent in one piece. */
const AT_ONCE_BYTES = 262_144;
/** Size at which pieces of an expanded list are sent, but for one piece that is larger. */
const CHUNK_BYTES = 65_536;
/** How long nothing of an answer may have been taken. */
const STALLED_MS = 60_000;

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/**
 * Cuts off an answer of which nothing has been taken for a while: a client that has stopped reading would keep what waits
 * for it, a batch of 16 MB, for as long as it likes. It is the socket's own watch, which costs nothing for
 * each piece and is set anew when the answer has ended. A pause that the server makes itself does not count.
 */
function endWhenStalled(answer: ServerResponse, ms = STALLED_MS): void {
  answer.setTimeout(ms, () => {
    if (answer.writableLength > 0) answer.destroy();
  });
}

/** The answer to a HEAD whose length is not known here. Sent as nothing at all, Fastify would say that it is 0. */
export function sendHead(reply: FastifyReply): FastifyReply {
  return reply.send(Readable.from([]));
}

/** JSON that is at hand. */
export function sendJson(reply: FastifyReply, body: Buffer): FastifyReply {
  if (body.length > AT_ONCE_BYTES) endWhenStalled(reply.raw);
  return reply.type(JSON_TYPE).send(body);
}

export interface ListShape {
  /** Whether `_meta` is shown. */
  readonly meta: boolean;
  /** Makes the JSON of each document of a batch, in pieces, where the codec's plain way is not enough. */
  readonly expand?: (batch: readonly Uint8Array[]) => AsyncIterable<readonly Buffer[]>;
  /** After how long a reader that takes nothing is given up. */
  readonly stalledMs?: number;
}

/**
 * A list as one JSON array, written as fast as the client reads and no faster. Where a page goes on stands in `Link`
 * (RFC 8288) and, bare, in `Millrace-Next`.
 */
export function sendList(reply: FastifyReply, list: List, shape: ListShape): FastifyReply | Promise<FastifyReply> {
  describe(reply, list);
  const { documents } = list;
  const { meta, expand, stalledMs } = shape;
  if (!('next' in documents) && expand === undefined && byteLength(documents) <= AT_ONCE_BYTES) {
    // A small page is one piece: a stream would cost more than all the rest of it.
    return sendJson(reply, encodeList(documents, { meta }));
  }
  const batches = 'next' in documents ? documents : inOne(documents);
  if (reply.request.method === 'HEAD') {
    // Fastify would read the whole list only to throw it away.
    close(batches);
    return sendHead(reply.type(JSON_TYPE));
  }
  if (expand !== undefined) return sendExpanded(reply, batches, expand, stalledMs);
  return sendStream(reply, batches, encoded(batches, meta), stalledMs);
}

function sendStream(
  reply: FastifyReply,
  batches: Steps<readonly Uint8Array[]>,
  body: AsyncIterable<Buffer>,
  stalledMs?: number,
): FastifyReply {
  endWhenStalled(reply.raw, stalledMs);
  const stream = Readable.from(body, { objectMode: false });
  // The client may have gone before the first chunk was asked for: then the generator never runs and closes nothing.
  stream.once('close', () => close(batches));
  return reply.type(JSON_TYPE).send(stream);
}

/** Its beginning is made before anything is sent: a failure in it can be told, and a short list is one piece. */
async function sendExpanded(
  reply: FastifyReply,
  batches: Steps<readonly Uint8Array[]>,
  expand: NonNullable<ListShape['expand']>,
  stalledMs?: number,
): Promise<FastifyReply> {
  const body = expanded(batches, expand);
  const first: Buffer[] = [];
  while (byteLength(first) <= AT_ONCE_BYTES) {
    const step = await body.next();
    if (step.done) return sendJson(reply, Buffer.concat(first));
    first.push(step.value);
  }
  return sendStream(reply, batches, joined(first, body), stalledMs);
}

async function* joined<T>(first: Iterable<T>, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield* first;
  yield* rest;
}

function byteLength(documents: readonly Uint8Array[]): number {
  return documents.reduce((sum, { length }) => sum + length, 0);
}

async function* inOne<T>(batch: readonly T[]): AsyncGenerator<readonly T[]> {
  yield batch;
}

/** Ends the reading of a list. A cursor that cannot be closed now is closed by the database later. */
function close(batches: Steps<readonly Uint8Array[]>): void {
  batches.return(undefined).catch(() => undefined);
}

function describe(reply: FastifyReply, { next, prev, count }: List): void {
  if (count !== null) reply.header('millrace-count', count.value).header('millrace-count-kind', count.kind);
  if (next !== null) reply.header('millrace-next', next);
  // A `_query` has no address of its own to go on at.
  if (reply.request.method === 'POST' || (next === null && prev === null)) return;
  const links = Object.entries({ next, prev }).flatMap(([rel, cursor]) =>
    cursor === null ? [] : `<${pageAddress(reply.request.url, cursor)}>; rel="${rel}"`,
  );
  reply.header('link', links.join(', '));
}

/** The address of the same list at another cursor. */
function pageAddress(url: string, cursor: string): string {
  const [path = '', search = ''] = url.split(/\?(.*)/s);
  const others = search.split('&').filter((pair) => pair !== '' && !/^(cursor|skip)=/.test(pair));
  return `${path}?${[...others, `cursor=${cursor}`].join('&')}`;
}

async function* expanded(
  batches: Steps<readonly Uint8Array[]>,
  expand: NonNullable<ListShape['expand']>,
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

/** What is large stands alone, and is not copied. */
function inOnePiece(pieces: readonly Buffer[]): Buffer {
  const [only] = pieces;
  return only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces);
}

async function* encoded(batches: Steps<readonly Uint8Array[]>, meta: boolean): AsyncGenerator<Buffer> {
  const encoder = new ListEncoder({ meta });
  for await (const batch of batches) {
    for (const raw of batch) {
      const chunk = encoder.append(raw);
      if (chunk === null) continue;
      yield chunk;
      // A batch may hold 16 MB: other requests get their turn between its chunks.
      await otherWork();
    }
  }
  yield encoder.end();
}
