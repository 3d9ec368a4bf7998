/**
 * Uploads of any size from a client that holds nothing in memory: the bytes are generated while they are sent, hashed
 * meanwhile, and cut off at a chosen position.
 */
import { createCipheriv, createHash } from 'node:crypto';
import { request } from 'node:http';

const CHUNK_BYTES = 65_536;

/** Pseudo-random bytes from a seed, always the same ones, in chunks. */
export function* bytesOf(seed: number, size: number): Generator<Buffer> {
  const key = Buffer.alloc(16, seed);
  const cipher = createCipheriv('aes-128-ctr', key, Buffer.alloc(16));
  const zeros = Buffer.alloc(CHUNK_BYTES);
  for (let sent = 0; sent < size; sent += CHUNK_BYTES) {
    yield cipher.update(zeros.subarray(0, Math.min(CHUNK_BYTES, size - sent)));
  }
}

export function sha256Of(seed: number, size: number): string {
  const hash = createHash('sha256');
  for (const chunk of bytesOf(seed, size)) hash.update(chunk);
  return hash.digest('hex');
}

export interface Upload {
  readonly seed: number;
  readonly size: number;
  /** Number of bytes after which the client drops the connection; undefined to send all. */
  readonly cutAfter?: number;
}

/** Sends one file. Returns the response, or undefined when the connection broke before. */
export function streamUpload(
  base: string,
  { seed, size, cutAfter }: Upload,
): Promise<{ readonly status: number; readonly body: string } | undefined> {
  return new Promise((resolve) => {
    const outgoing = request(`${base}/files`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'multipart/form-data; boundary=boundary' },
    });
    outgoing.on('error', () => resolve(undefined));
    outgoing.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text) => {
        body += text;
      });
      response.on('error', () => resolve(undefined));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    outgoing.write(
      '--boundary\r\ncontent-disposition: form-data; name="file"; filename="large.bin"\r\n' +
        'content-type: application/octet-stream\r\n\r\n',
    );
    const chunks = bytesOf(seed, size);
    let sent = 0;
    const more = () => {
      for (;;) {
        if (cutAfter !== undefined && sent >= cutAfter) {
          outgoing.destroy();
          return;
        }
        const next = chunks.next();
        if (next.done) break;
        sent += next.value.length;
        if (!outgoing.write(next.value)) {
          outgoing.once('drain', more);
          return;
        }
      }
      outgoing.end('\r\n--boundary--\r\n');
    };
    more();
  });
}

/** Reads a file to its end without keeping it in memory. */
export async function streamDownload(url: string): Promise<{ readonly sha256: string; readonly size: number }> {
  const response = await fetch(url);
  if (!response.ok || response.body === null) throw new Error(`GET responded with ${response.status}`);
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of response.body) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { sha256: hash.digest('hex'), size };
}
