/**
 * How documents leave in an answer: the codec's bytes, entity tag, location, and what `Prefer` asked for.
 */
import { Readable } from 'node:stream';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { encodeDocument, ListEncoder } from '../database/json.ts';
import type { StoredDocument } from './collections.ts';
import type { List } from './listing.ts';
import { parsePrefer } from './prefer.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

/** One document as it is. */
export function sendDocument(reply: FastifyReply, status: number, document: StoredDocument): FastifyReply {
  return reply.code(status).header('etag', document.etag).type(JSON_TYPE).send(encodeDocument(document.raw));
}

/** JSON that is at hand. */
export function sendJson(reply: FastifyReply, body: Buffer | string): FastifyReply {
  return reply.type(JSON_TYPE).send(body);
}

export interface ListShape {
  /** Whether `_meta` is shown. */
  readonly meta: boolean;
  /** Makes the JSON texts of a batch where the codec's plain way is not enough. */
  readonly expand?: (batch: readonly Uint8Array[]) => Promise<string[]>;
}

/**
 * A list as one JSON array, written as fast as the client reads and no faster. Where a page goes on stands in `Link`
 * (RFC 8288) and, bare, in `Millrace-Next`.
 */
export function sendList(reply: FastifyReply, list: List, shape: ListShape): FastifyReply {
  describe(reply, list);
  if (reply.request.method === 'HEAD') {
    // Fastify would read the whole list only to throw it away.
    close(list);
    return reply.type(JSON_TYPE).send();
  }
  const body = shape.expand ? expanded(list.batches, shape.expand) : encoded(list.batches, shape.meta);
  const stream = Readable.from(body, { objectMode: false });
  // The client may have gone before the first chunk was asked for: then the generator never runs and closes nothing.
  stream.once('close', () => close(list));
  return reply.type(JSON_TYPE).send(stream);
}

/** Ends the reading of a list. A cursor that cannot be closed now is closed by the database later. */
function close({ batches }: List): void {
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

async function* expanded(batches: List['batches'], expand: NonNullable<ListShape['expand']>): AsyncGenerator<Buffer> {
  let before = '[';
  for await (const batch of batches) {
    yield Buffer.from(before + (await expand(batch)).join(','));
    before = ',';
  }
  yield Buffer.from(before === '[' ? '[]' : ']');
}

async function* encoded(batches: List['batches'], meta: boolean): AsyncGenerator<Buffer> {
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

/** The documents of a bulk create, in order. */
export function sendCreated(reply: FastifyReply, created: readonly StoredDocument[]): FastifyReply {
  if (prefersMinimal(reply)) return reply.code(201).send();
  const encoder = new ListEncoder({ chunkBytes: Number.POSITIVE_INFINITY });
  for (const { raw } of created) encoder.append(raw);
  return reply.code(201).type(JSON_TYPE).send(encoder.end());
}

/** The outcome of a write: 201 with its place, or 200; without a body (204) when the client prefers so. */
export function sendWritten(reply: FastifyReply, document: StoredDocument, collection: string): FastifyReply {
  const encoded = encodeDocument(document.raw);
  const { createdId } = document;
  if (createdId !== undefined) reply.header('location', `/api/${collection}/${encodeURIComponent(createdId)}`);
  reply.header('etag', document.etag);
  if (prefersMinimal(reply)) return reply.code(createdId !== undefined ? 201 : 204).send();
  return reply
    .code(createdId !== undefined ? 201 : 200)
    .type(JSON_TYPE)
    .send(encoded);
}

/** Whether the answer to a write goes without a body; says so in `Preference-Applied` (RFC 7240 section 3). */
function prefersMinimal(reply: FastifyReply): boolean {
  const wanted = parsePrefer(reply.request.headers['prefer']).return;
  if (wanted !== undefined) reply.header('preference-applied', `return=${wanted}`);
  return wanted === 'minimal';
}
