/**
 * Builds BSON documents from parts, as bytes, for tests that need documents that no driver writes. It checks nothing: a
 * test may need damaged bytes.
 */

/** A field of a document: its type, its name, and the bytes of its value. */
export function element(type: number, name: string | Buffer, value: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type]), cstring(Buffer.from(name)), value]);
}

/** A document with these elements. */
export function frame(elements: readonly Buffer[]): Buffer {
  const inside = Buffer.concat(elements);
  return Buffer.concat([int32(inside.length + 5), inside, Buffer.alloc(1)]);
}

/** Text with a terminating 0; the text itself cannot contain a 0. */
export function cstring(text: Buffer): Buffer {
  return Buffer.concat([text.includes(0) ? text.filter((byte) => byte !== 0) : text, Buffer.alloc(1)]);
}

export function string(text: Buffer): Buffer {
  return Buffer.concat([int32(text.length + 1), text, Buffer.alloc(1)]);
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

export function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt.asIntN(64, value));
  return bytes;
}

export function float(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}
