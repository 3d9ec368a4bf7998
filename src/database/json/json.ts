/**
 * The one codec between stored documents and JSON text. Lists and single documents go from raw BSON to bytes without
 * objects in between; where a document is in hand anyway, `toWire` says the same as an object. How a value looks is
 * decided in wire-values.ts and how a body is read in parse-json.ts; this file is their door.
 */
import { ByteOutput } from './byte-output.ts';
import type { WireOptions } from './to-wire.ts';
import { appendDocument } from './transcode-document.ts';
import { writeAscii } from './write-text.ts';

export { parseJson } from './parse-json.ts';
export { toWire } from './to-wire.ts';

const shared = new ByteOutput();

/**
 * A stored document as the JSON text clients see, UTF-8.
 * @param raw one BSON document, as the driver gives it with `raw: true`
 * @throws MillraceError `internal` when the bytes are no BSON document
 */
export function encodeDocument(raw: Uint8Array, options: WireOptions = {}): Buffer {
  shared.clear();
  appendDocument(raw, shared, options.meta !== false);
  return shared.take();
}

/**
 * Stored documents as one JSON array, UTF-8; for as few as fit into one piece.
 * @throws MillraceError `internal` when the bytes are no BSON document
 */
export function encodeList(documents: readonly Uint8Array[], options: WireOptions = {}): Buffer {
  shared.clear();
  const encoder = new ListEncoder({ ...options, chunkBytes: Number.POSITIVE_INFINITY }, shared);
  for (const raw of documents) encoder.append(raw);
  return encoder.end();
}

export interface EncodeListOptions extends WireOptions {
  /** Size at which a chunk is handed out, in bytes; it may be larger by one document. Default 64 KiB. */
  readonly chunkBytes?: number;
}

/**
 * Encodes a list of stored documents as one JSON array in chunks. The caller writes what `append` returns, waits for
 * the socket before it appends more, and writes `end()` last; a list that fails is cut off instead, never ended.
 */
export class ListEncoder {
  readonly #out: ByteOutput;
  readonly #chunkBytes: number;
  readonly #meta: boolean;
  #started = false;

  constructor(options: EncodeListOptions = {}, out = new ByteOutput()) {
    this.#out = out;
    this.#chunkBytes = options.chunkBytes ?? 65_536;
    this.#meta = options.meta !== false;
  }

  /**
   * Adds one document. Returns a chunk when enough has come together, else null.
   * @throws MillraceError `internal` when the bytes are no BSON document; nothing of it is in any chunk then
   */
  append(raw: Uint8Array): Buffer | null {
    const before = this.#out.length;
    this.#separate();
    try {
      appendDocument(raw, this.#out, this.#meta);
    } catch (error) {
      this.#out.length = before;
      throw error;
    }
    this.#started = true;
    return this.#out.length >= this.#chunkBytes ? this.flush() : null;
  }

  /** What has come together so far, at the end of a driver batch or for an early first byte; may be empty. */
  flush(): Buffer {
    return this.#out.take();
  }

  /** The last chunk, with the closing bracket. */
  end(): Buffer {
    if (!this.#started) this.#separate();
    this.#out.reserve(1);
    this.#out.length = writeAscii(']', this.#out.bytes, this.#out.length);
    return this.flush();
  }

  #separate(): void {
    this.#out.reserve(1);
    this.#out.length = writeAscii(this.#started ? ',' : '[', this.#out.bytes, this.#out.length);
  }
}
