/**
 * How a list of files leaves in an answer: as one JSON array, written as fast as the client reads, with the headers that
 * say where a page goes on. Not here: what is in the list (listing.ts).
 */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { cut, type Fields } from '../query/evaluate/fields.ts';
import type { FileList } from './listing.ts';
import type { FileResource } from './upload/file.ts';
import type { SeenFile } from './visible-file.ts';

/** The members of a resource that `fields` asks for. */
export function show(resource: Partial<FileResource>, fields: Fields | null): object {
  if (fields === null) return resource;
  const { id, ...others } = resource;
  const { _id, ...shown } = cut({ _id: id, ...others }, fields);
  return _id === undefined ? shown : { id: _id, ...shown };
}

/** Sends a list; where a page goes on stands in `Link` (RFC 8288) and, bare, in `Millrace-Next`. */
export function sendFiles(reply: FastifyReply, list: FileList, resource: (file: SeenFile) => object): FastifyReply {
  const { next, prev, count, batches } = list;
  const links = Object.entries({ next, prev }).flatMap(([rel, cursor]) =>
    cursor === null ? [] : `<${pageAddress(reply.request.url, cursor)}>; rel="${rel}"`,
  );
  if (links.length > 0) reply.header('link', links.join(', '));
  if (next !== null) reply.header('millrace-next', next);
  if (count !== null) reply.header('millrace-count', count).header('millrace-count-kind', 'exact');
  reply.type('application/json; charset=utf-8');
  if (reply.request.method !== 'HEAD')
    return reply.send(Readable.from(jsonArray(batches, resource), { objectMode: false }));
  // Fastify would read the whole list only to throw it away.
  void batches.return(undefined);
  // Sent as nothing at all, Fastify would say that its length is 0.
  return reply.send(Readable.from([]));
}

/** The address of the same list at another cursor. */
function pageAddress(url: string, cursor: string): string {
  const [path = '', search = ''] = url.split(/\?(.*)/s);
  const others = search.split('&').filter((pair) => pair !== '' && !/^(cursor|skip)=/.test(pair));
  return `${path}?${[...others, `cursor=${cursor}`].join('&')}`;
}

async function* jsonArray(
  batches: AsyncIterable<readonly SeenFile[]>,
  resource: (file: SeenFile) => object,
): AsyncGenerator<string> {
  let before = '[';
  for await (const batch of batches) {
    yield before + batch.map((file) => JSON.stringify(resource(file))).join(',');
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}
