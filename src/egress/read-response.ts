/** Reads the response of an outgoing call within bounds, as the standard `Response`. */
import type { Dispatcher } from 'undici';
import { BrokenEncoding, decodeContent } from './decoding.ts';
import { egressError } from './egress-error.ts';

/** Statuses whose responses have no body (RFC 9110 section 6.4.1). */
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * Reads the body, decoded, and no more of it than the limit: neither of what comes nor of what it becomes.
 * @throws EgressError `response-too-large`, `invalid-response`
 */
export async function readResponse(
  response: Dispatcher.ResponseData,
  { origin, maxBytes }: { readonly origin: string; readonly maxBytes: number },
): Promise<Response> {
  const { statusCode, body } = response;
  try {
    const headers = headersOf(response);
    if (Number(headers.get('content-length') ?? 0) > maxBytes) throw egressError('response-too-large', origin);
    const encodings = headers.get('content-encoding');
    const received = bounded(body, maxBytes, origin);
    const bytes = await read(
      encodings === null ? received : bounded(decodeContent(received, encodings), maxBytes, origin),
    );
    if (encodings !== null) {
      // They describe the received bytes, not the decoded ones that callers get.
      headers.delete('content-encoding');
      headers.delete('content-length');
    }
    return new Response(WITHOUT_BODY.has(statusCode) ? null : bytes, { status: statusCode, headers });
  } catch (error) {
    // The rest of the body is not awaited.
    body.on('error', () => undefined).destroy();
    // A status or a header that the standard does not allow.
    const isMalformed = error instanceof TypeError || error instanceof RangeError || error instanceof BrokenEncoding;
    throw isMalformed ? egressError('invalid-response', origin, error) : error;
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
    if (size > maxBytes) throw egressError('response-too-large', origin);
    yield part;
  }
}

async function read(body: AsyncIterable<Buffer>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}
