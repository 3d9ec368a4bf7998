/**
 * Decodes the content encodings of responses (RFC 9110 section 8.4); some servers compress despite `accept-encoding`.
 * Decoding streams, so that a small response cannot become a large one in memory.
 */
import { pipeline, Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';

type Bytes = AsyncIterable<Buffer>;

/** A response has one encoding; more than two are an attack. */
const MOST_ENCODINGS = 2;

/** By the name of the encoding; the argument is the first byte of the content. */
const DECODERS: Readonly<Record<string, (first: number) => Transform>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // Some servers send the bare format of RFC 1951, whose first byte never looks like a zlib header.
  deflate: (first) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
};

/** The content of a response does not match its encoding, or the encoding is unknown. */
export class BrokenEncoding extends Error {
  override readonly name = 'BrokenEncoding';
}

/**
 * Decodes content. The caller must bound the result, because it can be much larger than the content.
 * @param encodings the value of the header `content-encoding`
 * @throws BrokenEncoding at once for an unknown encoding, and while reading; errors of the content itself
 */
export function decodeContent(content: Bytes, encodings: string): Bytes {
  const names = encodings
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
  if (names.length > MOST_ENCODINGS) throw new BrokenEncoding('The response has too many encodings');
  return names.reverse().reduce((bytes, name) => {
    const decoder = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
    if (decoder === undefined) throw new BrokenEncoding(`The encoding ${name.slice(0, 40)} is unknown`);
    return decodedBy(decoder, bytes);
  }, content);
}

async function* decodedBy(decoder: (first: number) => Transform, content: Bytes): Bytes {
  const parts = content[Symbol.asyncIterator]();
  let head = await parts.next();
  while (head.done !== true && head.value.length === 0) head = await parts.next();
  // A response without content, such as one to HEAD, may still name an encoding.
  if (head.done === true) return;
  const first = head.value;
  let failure: unknown;
  async function* whole(): Bytes {
    try {
      yield first;
      yield* { [Symbol.asyncIterator]: () => parts };
    } catch (error) {
      failure = error;
      throw error;
    }
  }
  const output = decoder(first[0] ?? 0);
  // An error here also fails the loop below.
  pipeline(Readable.from(whole(), { objectMode: false }), output, () => undefined);
  try {
    yield* output;
  } catch (error) {
    if (failure !== undefined) throw failure;
    throw new BrokenEncoding('The content does not match its encoding', { cause: error });
  } finally {
    output.destroy();
  }
}
