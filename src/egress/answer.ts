/**
 * Reads the answer of an outgoing call within bounds, as the standard `Response`. Not here: how long that may take
 * (egress.ts).
 */
import type { Dispatcher } from 'undici';
import { egressError } from './egress-error.ts';

/** Statuses whose answers have no body (RFC 9110 section 6.4.1). */
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * Reads the body, and no more of it than asked for.
 * @throws EgressError `too-large`, `malformed-answer`
 */
export async function readAnswer(
  answer: Dispatcher.ResponseData,
  { origin, maxBytes }: { readonly origin: string; readonly maxBytes: number },
): Promise<Response> {
  const { statusCode, body } = answer;
  try {
    const headers = headersOf(answer);
    const encoding = headers.get('content-encoding') ?? 'identity';
    if (encoding !== 'identity') throw new TypeError(`The encoding ${encoding} was not asked for`);
    if (Number(headers.get('content-length') ?? 0) > maxBytes) throw egressError('too-large', origin);
    const bytes = await read(body, maxBytes, origin);
    return new Response(WITHOUT_BODY.has(statusCode) ? null : bytes, { status: statusCode, headers });
  } catch (error) {
    // What is still to come is not waited for.
    body.on('error', () => undefined).destroy();
    // A status or a header that the standard does not know.
    if (error instanceof TypeError || error instanceof RangeError) throw egressError('malformed-answer', origin, error);
    throw error;
  }
}

function headersOf({ headers }: Dispatcher.ResponseData): Headers {
  const found = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const each of Array.isArray(value) ? value : [value ?? '']) found.append(name, each);
  }
  return found;
}

async function read(body: AsyncIterable<Buffer>, maxBytes: number, origin: string): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > maxBytes) throw egressError('too-large', origin);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
