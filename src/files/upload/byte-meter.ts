/**
 * Watches the bytes of one upload on their way from the socket to the store: counts and hashes them, keeps the first ones for
 * sniffing, and fails the stream at the size limit. It buffers only those first bytes.
 */
import { createHash } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import type { DiskSpaceMonitor } from '../../lib/disk-space.ts';
import { MillraceError } from '../../lib/errors.ts';
import { SNIFF_BYTES } from './detect-file-type.ts';

/** Passes bytes through unchanged; its results are complete when it has ended. */
export class UploadByteMeter extends Transform {
  readonly #hash = createHash('sha256');
  readonly #maxBytes: number;
  readonly #space: Pick<DiskSpaceMonitor, 'requireRoom'> | undefined;
  #head: Buffer = Buffer.alloc(0);
  #size = 0;

  /**
   * @param maxBytes maximum file size; the first byte above it fails the stream with `file-too-large`
   * @param space of the store: the stream fails with `storage-full` when none is left
   */
  constructor(maxBytes: number, space?: Pick<DiskSpaceMonitor, 'requireRoom'>) {
    super();
    this.#space = space;
    this.#maxBytes = maxBytes;
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.#size += chunk.length;
    if (this.#size > this.#maxBytes) {
      done(new MillraceError('file-too-large', `A file can have at most ${this.#maxBytes} bytes`));
      return;
    }
    try {
      this.#space?.requireRoom();
    } catch (error) {
      done(error instanceof Error ? error : null);
      return;
    }
    if (this.#head.length < SNIFF_BYTES) {
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, SNIFF_BYTES - this.#head.length)]);
    }
    this.#hash.update(chunk);
    done(null, chunk);
  }

  /** Number of bytes. */
  get size(): number {
    return this.#size;
  }

  /** The first `SNIFF_BYTES`, fewer of a smaller file. */
  get head(): Buffer {
    return this.#head;
  }

  /** SHA-256 in hex; finalizes the hash, so call it once. */
  digest(): string {
    return this.#hash.digest('hex');
  }
}
