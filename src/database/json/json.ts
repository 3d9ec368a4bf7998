/**
 * The codec between stored documents and JSON text, for other folders. Lists and single documents go from raw BSON to
 * bytes without intermediate objects; `toWireDocument` writes a decoded document with the same result.
 */
import { ALL_FIELDS, type FieldRuleTree, type IncludedFields, prepareIncludedFields } from '../bson/included-fields.ts';
import { ByteOutput } from './byte-output.ts';
import type { WireOptions } from './to-wire.ts';
import { appendDocumentJson } from './transcode-document.ts';
import { writeAscii } from './write-json-string.ts';

export { parseStrictJson } from './parse-json.ts';
export { toWireDocument } from './to-wire.ts';

const shared = new ByteOutput();

/**
 * A stored document as the JSON text clients see, UTF-8.
 * @param raw one BSON document, as the driver returns it with `raw: true`
 * @throws MillraceError `internal` if the bytes are not a BSON document
 */
export function encodeDocumentJson(raw: Uint8Array, options: WireOptions = {}): Buffer {
  shared.clear();
  appendDocumentJson(raw, shared, options.meta !== false);
  return shared.take();
}

/**
 * Stored documents as one JSON array, UTF-8, in one piece: for short lists.
 * @throws MillraceError `internal` if the bytes are not a BSON document
 */
export function encodeListJson(documents: readonly Uint8Array[], options: DocumentJsonOptions = {}): Buffer {
  shared.clear();
  const encoder = new JsonListEncoder({ ...options, chunkBytes: Number.POSITIVE_INFINITY }, shared);
  for (const raw of documents) encoder.append(raw);
  return encoder.end();
}

export interface DocumentJsonOptions extends WireOptions {
  /** The fields to write, besides `id` and `_meta`. Default all. */
  readonly fields?: FieldRuleTree;
}

export interface EncodeListOptions extends DocumentJsonOptions {
  /** Size at which a chunk is returned, in bytes; it may be larger by one document. Default 64 KiB. */
  readonly chunkBytes?: number;
}

/**
 * Encodes a list of stored documents as one JSON array in chunks. The caller sends what `append` returns, waits for the
 * socket before it appends more, and sends `end()` last. If a list fails, the response is cut off without `end()`, so
 * that it is not valid JSON.
 */
export class JsonListEncoder {
  readonly #out: ByteOutput;
  readonly #chunkBytes: number;
  readonly #meta: boolean;
  readonly #included: IncludedFields;
  #started = false;

  constructor(options: EncodeListOptions = {}, out = new ByteOutput()) {
    this.#out = out;
    this.#chunkBytes = options.chunkBytes ?? 65_536;
    this.#meta = options.meta !== false;
    this.#included = options.fields === undefined ? ALL_FIELDS : prepareIncludedFields(options.fields);
  }

  /**
   * Adds one document. Returns a chunk when it is large enough, otherwise null.
   * @throws MillraceError `internal` if the bytes are not a BSON document; then no chunk contains any of it
   */
  append(raw: Uint8Array): Buffer | null {
    const before = this.#out.length;
    this.#separate();
    try {
      appendDocumentJson(raw, this.#out, this.#meta, this.#included);
    } catch (error) {
      this.#out.length = before;
      throw error;
    }
    this.#started = true;
    return this.#out.length >= this.#chunkBytes ? this.flush() : null;
  }

  /** The bytes so far, without waiting for a full chunk; may be empty. */
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
