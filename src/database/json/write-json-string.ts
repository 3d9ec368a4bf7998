/**
 * Strings as JSON text, copied byte by byte from BSON into a buffer that is known to be large enough (six bytes for
 * each byte of the source are always enough). Both sides are UTF-8, so only damaged text is decoded.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * What to do with a byte inside a string. 0: copy it. 1: check a UTF-8 sequence. Otherwise: write `\` and this letter.
 */
const TREATMENT = new Uint8Array(256);
TREATMENT.fill(0x75, 0, 0x20); // \u00xx, except the five short ones
TREATMENT[0x08] = 0x62;
TREATMENT[0x09] = 0x74;
TREATMENT[0x0a] = 0x6e;
TREATMENT[0x0c] = 0x66;
TREATMENT[0x0d] = 0x72;
TREATMENT[QUOTE] = QUOTE;
TREATMENT[BACKSLASH] = BACKSLASH;
TREATMENT.fill(1, 0x80);

const HEX = Buffer.from('0123456789abcdef');

/**
 * Writes bytes that are JSON text already. They are short, and for these a loop is faster than a call into the runtime.
 */
export function writeRawBytes(bytes: Uint8Array, out: Buffer, to: number): number {
  for (let i = 0; i < bytes.length; i++) out[to + i] = bytes[i] ?? 0;
  return to + bytes.length;
}

/** Writes a text of ASCII characters unchanged. */
export function writeAscii(text: string, out: Buffer, to: number): number {
  return to + out.write(text, to, 'latin1');
}

/** Writes bytes as lower-case hex digits. */
export function writeHex(src: Buffer, start: number, end: number, out: Buffer, to: number): number {
  let at = to;
  for (let i = start; i < end; i++) {
    const byte = src[i] ?? 0;
    out[at++] = HEX[byte >> 4] ?? 0;
    out[at++] = HEX[byte & 15] ?? 0;
  }
  return at;
}

/** Writes any text as a JSON string. */
export function writeJsonString(text: string, out: Buffer, to: number): number {
  return to + out.write(JSON.stringify(text), to);
}

/**
 * Copies bytes that need no escape in a JSON string, up to `end` or the first byte that does. Returns the offset where
 * it stopped.
 */
export function copyUnescapedBytes(src: Buffer, start: number, end: number, out: Buffer, to: number): number {
  const shift = to - start;
  for (let from = start; from < end; from++) {
    const byte = src[from] ?? 0;
    if (TREATMENT[byte] !== 0) return from;
    out[from + shift] = byte;
  }
  return end;
}

/**
 * Writes the UTF-8 text between two offsets as a JSON string, escaped as JSON.stringify escapes. Bytes that are not
 * UTF-8 become U+FFFD, as when the driver decodes them.
 */
export function writeUtf8String(src: Buffer, start: number, end: number, out: Buffer, to: number): number {
  const first = copyUnescapedBytes(src, start, end, out, to + 1);
  const at = to + 1 + first - start;
  out[to] = QUOTE;
  if (first < end) return writeRest(src, start, first, end, out, to, at);
  out[at] = QUOTE;
  return at + 1;
}

/** Continues a string at the first byte that cannot simply be copied. */
function writeRest(
  src: Buffer,
  start: number,
  first: number,
  end: number,
  out: Buffer,
  to: number,
  firstTo: number,
): number {
  let at = firstTo;
  for (let from = first; from < end; from++) {
    const byte = src[from] ?? 0;
    const treatment = TREATMENT[byte] ?? 0;
    if (treatment === 0) {
      out[at++] = byte;
    } else if (treatment === 1) {
      const length = sequenceLength(src, from, end, byte);
      if (length === 0) return writeJsonString(src.toString('utf8', start, end), out, to);
      out[at++] = byte;
      for (let more = 1; more < length; more++) out[at++] = src[++from] ?? 0;
    } else {
      at = writeEscape(byte, treatment, out, at);
    }
  }
  out[at++] = QUOTE;
  return at;
}

function writeEscape(byte: number, email: number, out: Buffer, to: number): number {
  out[to] = BACKSLASH;
  out[to + 1] = email;
  if (email !== 0x75) return to + 2;
  out[to + 2] = 0x30;
  out[to + 3] = 0x30;
  out[to + 4] = HEX[byte >> 4] ?? 0;
  out[to + 5] = HEX[byte & 15] ?? 0;
  return to + 6;
}

/**
 * Length of the well-formed UTF-8 sequence that starts here with a byte of 0x80 or more (Unicode 16, table 3-7), or 0.
 */
function sequenceLength(src: Buffer, at: number, end: number, first: number): number {
  if (first < 0xc2 || first > 0xf4) return 0;
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (at + length > end) return 0;
  const second = src[at + 1] ?? 0;
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return 0;
  for (let i = 2; i < length; i++) if (((src[at + i] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}
