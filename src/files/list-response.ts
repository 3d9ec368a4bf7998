/** The response with a list of files: one JSON array, streamed as fast as the client reads, with headers for the next page. */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { limitChunks, prepareBody } from '../lib/streaming/chunks.ts';
import type { StreamedResponse } from '../policies/revalidation/streamed-responses.ts';
import { type FieldSelection, toFieldTree } from '../query/evaluate/field-selection.ts';
import { selectFields } from '../query/evaluate/field-tree.ts';
import { pageLinks } from '../query/page/page-links.ts';
import type { FileList } from './listing.ts';
import type { FileResource } from './upload/file.ts';
import type { VisibleFile } from './visible-file.ts';

/** The fields of a resource that `fields` selects. */
export function selectResourceFields(resource: Partial<FileResource>, fields: FieldSelection | null): object {
  if (fields === null) return resource;
  const { id, ...others } = resource;
  const { _id, ...shown } = selectFields({ _id: id, ...others }, toFieldTree(fields));
  return _id === undefined ? shown : { id: _id, ...shown };
}

/** Memory of a long list of files, in bytes: one batch as stored, as objects and as JSON. */
const LIST_BYTES = 4 * 1_048_576;

export interface FileListResponseOptions {
  readonly resource: (file: VisibleFile) => object;
  /** Maximum bytes of the response. */
  readonly most: number;
  /** Starts a streamed response that holds this many bytes in memory until it ends. */
  readonly begin: (bytes: number) => StreamedResponse;
}

/** Sends a list. The next page's URL is in `Link` (RFC 8288), and its cursor in `Millrace-Next`. */
export async function sendFiles(
  reply: FastifyReply,
  list: FileList,
  shape: FileListResponseOptions,
): Promise<FastifyReply> {
  const { next, count, batches } = list;
  const links = pageLinks(reply.request.url, list);
  if (links !== null) reply.header('link', links);
  if (next !== null) reply.header('millrace-next', next);
  if (count !== null) reply.header('millrace-count', count).header('millrace-count-kind', 'exact');
  reply.type('application/json; charset=utf-8');
  if (reply.request.method !== 'HEAD') {
    const body = await prepareBody(limitChunks(jsonArray(batches, shape.resource), shape.most));
    if ('whole' in body) return reply.send(body.whole);
    try {
      return reply.send(Readable.from(shape.begin(LIST_BYTES).allowed(body.chunks), { objectMode: false }));
    } catch (error) {
      void batches.return(undefined);
      throw error;
    }
  }
  // Fastify would read the whole list only to discard it.
  void batches.return(undefined);
  // An empty stream: without a body, Fastify would send a length of 0.
  return reply.send(Readable.from([]));
}

async function* jsonArray(
  batches: AsyncIterable<readonly VisibleFile[]>,
  resource: (file: VisibleFile) => object,
): AsyncGenerator<Buffer> {
  let before = '[';
  for await (const batch of batches) {
    yield Buffer.from(before + batch.map((file) => JSON.stringify(resource(file))).join(','));
    before = ',';
  }
  yield Buffer.from(before === '[' ? '[]' : ']');
}
