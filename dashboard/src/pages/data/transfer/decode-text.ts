/** The text of a file that somebody chose, in whichever encoding a spreadsheet or a database has written it. */

export type Encoding = 'UTF-8' | 'UTF-16LE' | 'UTF-16BE' | 'Windows-1252';

export interface DecodedText {
  readonly text: string;
  readonly encoding: Encoding;
}

/** How many bytes are looked at for the encoding of UTF-16 without a byte order mark. */
const LOOKED_AT = 4_096;
/** Characters below a blank that texts have: tab, line feed, form feed and carriage return. */
const CONTROLS = new Set([9, 10, 12, 13]);

/**
 * Decodes by the byte order mark, by the zero bytes of UTF-16, as UTF-8 where that is valid, and else as Windows-1252, which
 * older spreadsheets write.
 * @throws Error when the bytes are not text
 */
export function decodeText(bytes: Uint8Array): DecodedText {
  const wide = wideEncoding(bytes);
  for (const encoding of wide === null ? (['UTF-8', 'Windows-1252'] as const) : [wide]) {
    // Without `ignoreBOM` the decoder removes the mark.
    const text = decoded(bytes, encoding);
    if (text === null) continue;
    if (hasControls(text)) break;
    return { text, encoding };
  }
  throw new Error('The file is not text: it holds bytes that no text has');
}

/** UTF-16 by its byte order mark, or by zero bytes in one half of its byte pairs. */
function wideEncoding(bytes: Uint8Array): Encoding | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'UTF-16LE';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'UTF-16BE';
  const start = bytes.subarray(0, LOOKED_AT);
  const zeros = (odd: 0 | 1) => start.filter((byte, at) => byte === 0 && at % 2 === odd).length;
  const [even, odd] = [zeros(0), zeros(1)];
  if (bytes.length % 2 === 0 && odd > start.length / 8 && even < odd / 8) return 'UTF-16LE';
  if (bytes.length % 2 === 0 && even > start.length / 8 && odd < even / 8) return 'UTF-16BE';
  return null;
}

function decoded(bytes: Uint8Array, encoding: Encoding): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function hasControls(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if ((code < 32 && !CONTROLS.has(code)) || code === 0x7f || code === 0xfffe) return true;
  }
  return false;
}
