/**
 * A buffer that grows and is used again for the next text. What is taken out is a copy, so that nobody sees it change.
 * It is no stream: whoever fills it decides when to take.
 */

const SMALLEST = 16_384;
/** A buffer that one large document made larger than this is dropped after use, so that it does not stay in memory. */
const LARGEST_KEPT = 1_048_576;

export class ByteOutput {
  /** The bytes so far are the first `length` of these. */
  bytes: Buffer = Buffer.allocUnsafeSlow(SMALLEST);
  length = 0;

  /** Makes room for so many bytes behind the present ones. */
  reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    // Pages of a fresh allocation that are never written cost no memory, so room may be generous.
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  /** A copy of the bytes so far; the output is empty again afterwards. */
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
