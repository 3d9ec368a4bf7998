/** Sends documents in the response to a read: the codec's bytes, the entity tag. */
import { Readable } from 'node:stream';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { type DocumentJsonOptions, encodeListJson, JsonListEncoder } from '../../database/json/json.ts';
import { prependFirst } from '../../lib/concurrency/closable-iterator.ts';
import {
  CHUNK_BYTES,
  limitChunks,
  MAX_UNSTREAMED_BYTES,
  prepareBody,
  splitIntoChunks,
} from '../../lib/streaming/chunks.ts';
import type { RightsAtRequestStart } from '../../policies/revalidation/revalidation.ts';
import type { StreamedResponse, StreamedResponses } from '../../policies/revalidation/streamed-responses.ts';
import type { FieldTree } from '../../query/evaluate/field-tree.ts';
import { pageLinks } from '../../query/page/page-links.ts';
import type { ExpandDocuments } from '../read/expansion.ts';
import type { DocumentList } from '../read/list.ts';
import { JSON_CONTENT_TYPE } from './write-response.ts';

/** Memory of an unlimited list: its batches have about this size. */
const LIST_BYTES = 1_048_576;

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/** The response to a HEAD of unknown length. Without this, Fastify would send a length of 0. */
export function sendHeadResponse(reply: FastifyReply): FastifyReply {
  return reply.send(Readable.from([]));
}

/** What a long response needs: it holds memory, and continues only while its rights hold. */
export interface StreamingOptions {
  readonly streamedResponses: StreamedResponses;
  /** The rights that it begins with; null if they cannot be revoked. */
  readonly rights: RightsAtRequestStart | null;
}

/**
 * Starts a streamed response that holds this many bytes in memory until its end.
 * @throws MillraceError `client-memory-exceeded`, `overloaded`
 */
function beginStream(reply: FastifyReply, streaming: StreamingOptions, bytes: number): StreamedResponse {
  return streaming.streamedResponses.begin(reply.request, reply.raw, streaming.rights, bytes);
}

/**
 * Sends JSON that is complete in memory.
 * @throws MillraceError `client-memory-exceeded`, `overloaded`
 */
export function sendJson(reply: FastifyReply, body: Buffer, streaming: StreamingOptions): FastifyReply {
  reply.type(JSON_CONTENT_TYPE);
  if (body.length <= MAX_UNSTREAMED_BYTES || reply.request.method === 'HEAD') return reply.send(body);
  // In several pieces: a single one would not show how fast the client reads.
  const pieces = beginStream(reply, streaming, body.length).allowed(splitIntoChunks(body));
  return reply.header('content-length', body.length).send(Readable.from(pieces, { objectMode: false }));
}

export interface ListResponseOptions extends StreamingOptions {
  readonly hints: readonly string[];
  /** Whether `_meta` is included. */
  readonly meta: boolean;
  /** Adds expanded documents; without it the codec writes the documents directly. */
  readonly expand: ExpandDocuments | null;
  /** Maximum bytes of the whole response. */
  readonly most: number;
}

/**
 * A list as one JSON array, written at the speed of the client. The URL of the next page is in `Link` (RFC 8288), and
 * its cursor in `Millrace-Next`.
 * @throws MillraceError `response-too-large`, `client-memory-exceeded`, `overloaded`, while nothing has been sent
 */
export function sendList(
  reply: FastifyReply,
  list: DocumentList,
  options: ListResponseOptions,
): FastifyReply | Promise<FastifyReply> {
  describe(reply, list, options.hints);
  const { documents, rest, visible: fields } = list;
  const { meta, expand } = options;
  const bytes = byteLength(documents);
  if (rest === null && expand === null && bytes <= MAX_UNSTREAMED_BYTES) {
    // A small page is sent as one piece: a stream would cost more than the rest of the request.
    return sendJson(reply, encodeOnce(list, meta), options);
  }
  if (reply.request.method === 'HEAD') {
    // Fastify would read the whole list only to discard it.
    close(rest);
    return sendHeadResponse(reply.type(JSON_CONTENT_TYPE));
  }
  const size = new HeldBytes(rest === null ? bytes : LIST_BYTES);
  // The first batch is released once it is sent: nothing below may keep the list.
  const all = rest === null ? [documents] : prependFirst({ done: false, value: documents }, rest);
  const batches = size.measured(all);
  const hold = (bytes: number) => size.found(bytes);
  const chunks =
    expand === null ? encoded(batches, { meta, fields }) : expanded(batches, (batch) => expand(batch, hold));
  return sendChunks(reply, rest, limitChunks(chunks, options.most), size, options);
}

const encodedPages = new WeakMap<DocumentList['documents'], { readonly visible: FieldTree; readonly json: Buffer }>();

/** The JSON of a page with `_meta`, encoded once for all requests that share the page and see the same fields. */
function encodeOnce({ documents, visible }: DocumentList, meta: boolean): Buffer {
  if (!meta) return encodeListJson(documents, { meta, fields: visible });
  const known = encodedPages.get(documents);
  if (known?.visible === visible) return known.json;
  const json = encodeListJson(documents, { fields: visible });
  encodedPages.set(documents, { visible, json });
  return json;
}

/**
 * The first chunk is encoded before anything is sent, so an error in it still gets the right status, and a short list
 * is sent as one piece.
 */
async function sendChunks(
  reply: FastifyReply,
  rest: DocumentList['rest'],
  chunks: AsyncGenerator<Buffer>,
  size: HeldBytes,
  streaming: StreamingOptions,
): Promise<FastifyReply> {
  try {
    const body = await prepareBody(chunks);
    if ('whole' in body) return sendJson(reply, body.whole, streaming);
    const response = beginStream(reply, streaming, size.bytes);
    size.report(response);
    const stream = Readable.from(response.allowed(body.chunks), { objectMode: false });
    // The client may disconnect before the first chunk is requested: then the generator never runs and closes nothing.
    stream.once('close', () => close(rest));
    return reply.type(JSON_CONTENT_TYPE).send(stream);
  } catch (error) {
    close(rest);
    throw error;
  }
}

/**
 * The memory that a list holds, in bytes: the batch being sent (counted as at least the size assumed at the start) and
 * the documents read for its expansions.
 */
class HeldBytes {
  readonly #least: number;
  #response: StreamedResponse | null = null;
  #batch: number;
  #found = 0;

  constructor(least: number) {
    this.#least = least;
    this.#batch = least;
  }

  get bytes(): number {
    return this.#batch + this.#found;
  }

  report(response: StreamedResponse): void {
    this.#response = response;
  }

  /** Sets the size of the most recently read expanded documents; they replace the earlier ones. */
  found(bytes: number): void {
    this.#found = bytes;
    this.#response?.resize(this.bytes);
  }

  /** The batches of a list, each counted before it is sent. */
  async *measured(
    batches: Iterable<readonly Uint8Array[]> | AsyncIterable<readonly Uint8Array[]>,
  ): AsyncGenerator<readonly Uint8Array[]> {
    for await (const batch of batches) {
      this.#count(batch);
      yield batch;
    }
  }

  #count(batch: readonly Uint8Array[]): void {
    this.#batch = Math.max(this.#least, byteLength(batch));
    this.#response?.resize(this.bytes);
  }
}

function byteLength(documents: readonly Uint8Array[]): number {
  return documents.reduce((sum, { length }) => sum + length, 0);
}

/** Closes the cursor of a list. If that fails now, the database closes it later. */
function close(rest: DocumentList['rest']): void {
  rest?.return(undefined).catch(() => undefined);
}

function describe(reply: FastifyReply, { next, prev, count }: DocumentList, hints: readonly string[]): void {
  if (hints.length > 0) reply.header('millrace-hint', inAscii(hints.join(' ')));
  if (count !== null) reply.header('millrace-count', count.value).header('millrace-count-kind', count.kind);
  if (next !== null) reply.header('millrace-next', next);
  // A `_query` request has no URL at which the list could continue.
  const links = reply.request.method === 'POST' ? null : pageLinks(reply.request.url, { next, prev });
  if (links !== null) reply.header('link', links);
}

/** A header holds visible ASCII: other characters are written as JSON escapes. */
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

async function* encoded(
  batches: AsyncIterable<readonly Uint8Array[]>,
  options: DocumentJsonOptions,
): AsyncGenerator<Buffer> {
  const encoder = new JsonListEncoder(options);
  for await (const batch of batches) {
    for (const raw of batch) {
      const chunk = encoder.append(raw);
      if (chunk === null) continue;
      yield chunk;
      // Other requests run between the chunks of a batch.
      await otherWork();
    }
  }
  yield encoder.end();
}
