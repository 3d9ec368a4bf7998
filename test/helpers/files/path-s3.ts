/**
 * An S3 server below a path, as gateways have it (Supabase: `/storage/v1/s3`), with the operations that the store uses
 * for small files.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Test } from 'tap';

export const S3_PATH = '/storage/v1/s3';
const NO_UPLOADS = '<?xml version="1.0"?><ListMultipartUploadsResult></ListMultipartUploadsResult>';

export interface PathS3 {
  /** With the path, without a slash at the end. */
  readonly endpoint: string;
  /** Bytes by the path of their object after the endpoint, such as `/bucket/key`. */
  readonly objects: ReadonlyMap<string, Buffer>;
  /** Paths of requests that were not below the path of the endpoint. */
  readonly misdirected: readonly string[];
}

export async function startPathS3(t: Pick<Test, 'teardown'>): Promise<PathS3> {
  const objects = new Map<string, Buffer>();
  const misdirected: string[] = [];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://s3');
    const isSigned = /^AWS4-HMAC-SHA256 /.test(request.headers.authorization ?? '');
    if (!pathname.startsWith(`${S3_PATH}/`) || !isSigned) {
      misdirected.push(pathname);
      response.writeHead(404).end();
      return;
    }
    const key = pathname.slice(S3_PATH.length);
    const bytes = objects.get(key);
    if (request.method === 'PUT') {
      objects.set(key, await buffer(request));
      response.end();
    } else if (request.method === 'DELETE') {
      objects.delete(key);
      response.writeHead(204).end();
    } else if (searchParams.has('uploads')) response.end(NO_UPLOADS);
    else if (request.method === 'HEAD') response.end();
    else if (bytes === undefined) response.writeHead(404).end();
    else {
      const [first = 0, last = 0] = (request.headers.range ?? '').replace('bytes=', '').split('-').map(Number);
      const part = bytes.subarray(first, last + 1);
      const headers = { 'content-length': part.length, 'content-range': `bytes ${first}-${last}/${bytes.length}` };
      response.writeHead(206, headers).end(part);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}${S3_PATH}`, objects, misdirected };
}
