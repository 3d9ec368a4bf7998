/**
 * Reads a multipart body part by part, as it arrives. The only importer of the parser: it buffers what the parser has read ahead,
 * at most a few chunks.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Dicer } from '@fastify/busboy';
import { MillraceError } from '../../lib/errors.ts';
import { MAX_MULTIPART_PARTS, type MultipartPart, tooManyParts } from './multipart-upload.ts';
import { parsePartHeaders, type RawPartHeaders } from './part-headers.ts';

const HEADER_LIMITS = { maxHeaderPairs: 32, maxHeaderSize: 8_192 };

/**
 * The parts of a request, each to be read to its end before the next one. Leaving the loop stops reading, and leaves the rest of
 * the body to the caller.
 * @throws MillraceError `malformed-request`, `too-many-parts`, and the error that the request was destroyed with
 */
export async function* readMultipartParts(request: IncomingMessage): AsyncGenerator<MultipartPart> {
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(request.headers['content-type'] ?? '');
  if (boundary === null) throw malformed();
  const parser = new Dicer({ boundary: boundary[1] ?? boundary[2] ?? '', ...HEADER_LIMITS });
  const found: MultipartPart[] = [];
  const open = new Set<Readable>();
  let count = 0;
  let isEmpty = true;
  let failure: unknown;
  let isDone = false;
  let wake: () => void = () => undefined;

  const end = (error?: unknown) => {
    failure ??= error;
    isDone = true;
    wake();
  };
  const breakOff = (error: unknown) => {
    for (const bytes of open) bytes.destroy(error instanceof Error ? error : undefined);
    end(error);
  };
  parser.on('part', (bytes) => {
    // The parser also reports the error of a part here; without a listener the process would crash.
    bytes.on('error', () => undefined);
    open.add(bytes);
    bytes.once('close', () => open.delete(bytes));
    if (++count > MAX_MULTIPART_PARTS) {
      bytes.resume();
      end(tooManyParts(`More than ${MAX_MULTIPART_PARTS} parts`));
      return;
    }
    bytes.once('header', (headers) => {
      const head = parsePartHeaders(headers as RawPartHeaders);
      if (head === null) bytes.resume();
      else if (!isDone) found.push({ ...head, bytes });
      wake();
    });
  });
  parser.once('finish', () => end());
  parser.on('error', (error) => end(isEmpty ? undefined : malformed(error)));
  const onError = (error: Error) => breakOff(error);
  const onClose = () => request.readableEnded || breakOff(request.errored ?? malformed());
  const onData = () => {
    isEmpty = false;
  };
  request.once('data', onData).once('error', onError).once('close', onClose);
  request.pipe(parser);
  try {
    for (;;) {
      const part = found.shift();
      if (part !== undefined) yield part;
      else if (failure !== undefined) throw failure;
      else if (isDone) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    request.unpipe(parser);
    request.off('data', onData).off('error', onError).off('close', onClose);
  }
}

function malformed(cause?: unknown): MillraceError {
  return new MillraceError('malformed-request', 'The multipart body is malformed or ends too early', {
    hint: 'It requires a boundary in its Content-Type and the closing boundary at its end (RFC 7578)',
    cause,
  });
}
