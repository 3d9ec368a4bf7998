/** Detects whether bytes are text, and their encoding. Pure and independent of Node: the dashboard imports files with it, too. */

/** The encoding of text without a declared one that is valid UTF-8, or ASCII. */
export const UTF_8_CHARSET = 'utf-8';

const ASSUMED_LEGACY = 'windows-1252';
/** Bytes that are searched for the pattern of UTF-16 without a byte order mark. */
const PATTERN_BYTES = 4_096;
/** Bytes that Windows-1252 leaves undefined. */
const UNDEFINED_IN_1252 = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d]);
/** Binary data bytes of the MIME Sniffing Standard, as characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what is looked for
const BINARY = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/;

/**
 * Finds the encoding of text: UTF-16 by its byte order mark or its pattern of zero bytes, UTF-8 if the bytes are valid, otherwise
 * the declared encoding if the bytes are valid in it, otherwise Windows-1252.
 * @param head the first bytes of a file, or all of them
 * @param declared the `charset` parameter of the Content-Type, if there is one
 * @param isCut whether the file continues after these bytes, so that their last character may be incomplete
 * @returns a label of the WHATWG Encoding Standard, or null for bytes that are not text
 */
export function detectTextEncoding(head: Uint8Array, declared: string | undefined, isCut: boolean): string | null {
  const isTextIn = (label: string) => isText(label, head, isCut);
  const wide = wideEncoding(head);
  if (wide !== null) return isTextIn(wide) ? wide : null;
  // Each byte is one character in it, and its control characters are those of ASCII.
  if (!isTextIn(ASSUMED_LEGACY)) return null;
  if (isTextIn(UTF_8_CHARSET)) return UTF_8_CHARSET;
  const label = declared === undefined ? null : knownLabel(declared);
  if (label !== null && label !== UTF_8_CHARSET && isTextIn(label)) return label;
  return head.some((byte) => UNDEFINED_IN_1252.has(byte)) ? null : ASSUMED_LEGACY;
}

function wideEncoding(head: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  const start = head.subarray(0, PATTERN_BYTES);
  const zeros = [0, 0];
  for (const [index, byte] of start.entries()) if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  // Without a mark: many characters of most languages have a zero byte, nearly always in the same half.
  const least = start.length / 8;
  if (odd > least && even < odd / 8) return 'utf-16le';
  return even > least && odd < even / 8 ? 'utf-16be' : null;
}

function isText(label: string, head: Uint8Array, isCut: boolean): boolean {
  try {
    return !BINARY.test(new TextDecoder(label, { fatal: true }).decode(head, { stream: isCut }));
  } catch {
    return false;
  }
}

function knownLabel(declared: string): string | null {
  try {
    return new TextDecoder(declared).encoding;
  } catch {
    return null;
  }
}
