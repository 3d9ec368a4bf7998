/** A growing buffer that is reused for the next text. Returned bytes are a copy, so later writes do not change them. */

const SMALLEST = 16_384;
/** A buffer that has grown beyond this, for one large document, is dropped after use. */
const LARGEST_KEPT = 1_048_576;

export class ByteOutput {
  /** The first `length` bytes of it are written. */
  bytes: Buffer = Buffer.allocUnsafeSlow(SMALLEST);
  length = 0;

  /** Reserves room after the written bytes. */
  reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    // Memory pages that are never written cost nothing, so the reserve may be generous.
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  /** A copy of the written bytes. Afterwards the output is empty. */
  take(): Buffer {
    const taken = Buffer.from(this.bytes.subarray(0, this.length));
    this.clear();
    return taken;
  }

  clear(): void {
    this.length = 0;
    if (this.bytes.length > LARGEST_KEPT) this.bytes = Buffer.allocUnsafeSlow(SMALLEST);
  }
}
