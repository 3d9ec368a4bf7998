/** Multipart bodies for tests: well-formed ones by the platform's FormData, others written by hand. */
import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';

export interface Multipart {
  readonly send: Buffer;
  readonly headers: Record<string, string>;
}

/** An input of a form in which no file was chosen, as browsers send it. */
export const NO_FILE: FilePart = { name: 'no-file-chosen', type: 'application/octet-stream', bytes: '' };

/** The content of one part. */
export interface FilePart {
  readonly field?: string;
  readonly name?: string;
  readonly type?: string;
  readonly bytes?: Uint8Array | string;
}

/** A file part for each object and a field for each pair, in order. */
export async function multipart(...parts: readonly (FilePart | Pair)[]): Promise<Multipart> {
  const form = new FormData();
  for (const part of parts) {
    if (isPair(part)) {
      form.append(part[0], part[1]);
    } else {
      const { field = 'file', name = 'a.txt', type = 'text/plain', bytes = 'hello' } = part;
      form.append(field, new File([Buffer.from(bytes)], name, { type }));
    }
  }
  const response = new Response(form);
  const body = Buffer.from(await response.arrayBuffer()).toString('latin1');
  // The platform's FormData leaves an empty file name out; browsers write it.
  const send = Buffer.from(body.replaceAll(`filename="${NO_FILE.name}"`, 'filename=""'), 'latin1');
  return { send, headers: { 'content-type': response.headers.get('content-type') ?? '' } };
}

type Pair = readonly [field: string, value: string];

function isPair(part: FilePart | Pair): part is Pair {
  return Array.isArray(part);
}

/** A body from given lines, joined by CRLF, with the boundary `x`. */
export function handmade(lines: readonly string[], contentType = 'multipart/form-data; boundary=x'): Multipart {
  return { send: Buffer.from(lines.join('\r\n')), headers: { 'content-type': contentType } };
}

/** Uploads one file and returns its resource. */
export async function uploadOne(app: FastifyInstance, part: FilePart, ...fields: [string, string][]) {
  const { send, headers } = await multipart(part, ...fields);
  const response = await app.inject({ method: 'POST', url: '/files', payload: send, headers });
  if (response.statusCode !== 200) throw new Error(`Upload failed: ${response.body}`);
  return response.json();
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Number of documents, chunks, heads and marks. */
export async function countAll(parts: { mongo: import('../../../src/database/mongo.ts').Mongo }) {
  const { data, files, log } = parts.mongo;
  const count = (collection: { countDocuments(): Promise<number> }) => collection.countDocuments();
  return {
    documents: await count(data.collection('_files')),
    heads: await count(files.collection('files.files')),
    chunks: await count(files.collection('files.chunks')),
    marks: await count(log.collection('uploads')),
  };
}
