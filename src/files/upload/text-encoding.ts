/** Whether bytes are text, and in which encoding. Pure. It reads the beginning of a file and decides for all of it. */
import { SNIFF_BYTES } from './signatures.ts';

/** The encoding of text that names none and is valid UTF-8, or ASCII. */
export const UTF_8 = 'utf-8';

const ASSUMED_LEGACY = 'windows-1252';
/** Bytes that Windows-1252 leaves undefined. */
const UNDEFINED_IN_1252 = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d]);
/** What the MIME Sniffing Standard calls binary data bytes, as characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what is looked for
const BINARY = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/;

/**
 * Finds the encoding of text: UTF-16 by its byte order mark or its pattern of zero bytes, UTF-8 if the bytes are valid,
 * otherwise the declared encoding if the bytes are valid in it, otherwise Windows-1252.
 * @param head the first bytes of a file; a character may be cut at their end
 * @param declared the `charset` parameter of the Content-Type, if there is one
 * @returns a label of the WHATWG Encoding Standard, or null for bytes that are no text
 */
export function textEncoding(head: Buffer, declared: string | undefined): string | null {
  const wide = wideEncoding(head);
  if (wide !== null) return isTextIn(wide, head) ? wide : null;
  if (BINARY.test(head.toString('latin1'))) return null;
  if (isTextIn(UTF_8, head)) return UTF_8;
  const label = declared === undefined ? null : knownLabel(declared);
  if (label !== null && label !== UTF_8 && isTextIn(label, head)) return label;
  return head.some((byte) => UNDEFINED_IN_1252.has(byte)) ? null : ASSUMED_LEGACY;
}

function wideEncoding(head: Buffer): 'utf-16le' | 'utf-16be' | null {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  const zeros = [0, 0];
  for (const [index, byte] of head.entries()) if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  // Without a mark: most characters of common languages have a zero byte, always in the same half.
  const most = head.length / 4;
  if (even === 0 && odd > most) return 'utf-16le';
  return odd === 0 && even > most ? 'utf-16be' : null;
}

function isTextIn(label: string, head: Buffer): boolean {
  try {
    return !BINARY.test(new TextDecoder(label, { fatal: true }).decode(head, { stream: isCut(head) }));
  } catch {
    return false;
  }
}

/** Whether the file goes on after these bytes, so that their last character may be incomplete. */
function isCut(head: Buffer): boolean {
  return head.length >= SNIFF_BYTES;
}

function knownLabel(declared: string): string | null {
  try {
    return new TextDecoder(declared).encoding;
  } catch {
    return null;
  }
}
