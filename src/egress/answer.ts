/**
 * Reads the answer of an outgoing call within bounds, as the standard `Response`. Not here: how long that may take
 * (egress.ts).
 */
import type { Dispatcher } from 'undici';
import { BrokenEncoding, decoded } from './decoding.ts';
import { egressError } from './egress-error.ts';

/** Statuses whose answers have no body (RFC 9110 section 6.4.1). */
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * Reads the body, decoded, and no more of it than the limit: neither of what comes nor of what it becomes.
 * @throws EgressError `too-large`, `malformed-answer`
 */
export async function readAnswer(
  answer: Dispatcher.ResponseData,
  { origin, maxBytes }: { readonly origin: string; readonly maxBytes: number },
): Promise<Response> {
  const { statusCode, body } = answer;
  try {
    const headers = headersOf(answer);
    if (Number(headers.get('content-length') ?? 0) > maxBytes) throw egressError('too-large', origin);
    const encodings = headers.get('content-encoding');
    const received = bounded(body, maxBytes, origin);
    const bytes = await read(encodings === null ? received : bounded(decoded(received, encodings), maxBytes, origin));
    if (encodings !== null) {
      // They describe the bytes that came, and not the ones that callers get.
      headers.delete('content-encoding');
      headers.delete('content-length');
    }
    return new Response(WITHOUT_BODY.has(statusCode) ? null : bytes, { status: statusCode, headers });
  } catch (error) {
    // What is still to come is not waited for.
    body.on('error', () => undefined).destroy();
    // A status or a header that the standard does not know.
    const isMalformed = error instanceof TypeError || error instanceof RangeError || error instanceof BrokenEncoding;
    throw isMalformed ? egressError('malformed-answer', origin, error) : error;
  }
}

function headersOf({ headers }: Dispatcher.ResponseData): Headers {
  const found = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const each of Array.isArray(value) ? value : [value ?? '']) found.append(name, each);
  }
  return found;
}

async function* bounded(body: AsyncIterable<Buffer>, maxBytes: number, origin: string): AsyncIterable<Buffer> {
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > maxBytes) throw egressError('too-large', origin);
    yield part;
  }
}

async function read(body: AsyncIterable<Buffer>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}
