/** The text of a chosen file, in any encoding that a spreadsheet or a database writes. */
import { detectTextEncoding } from '../../../../../src/files/upload/text-encoding.ts';

export interface DecodedText {
  readonly text: string;
  /** As shown, such as `UTF-8`. */
  readonly encoding: string;
}

const NAMES: Readonly<Record<string, string>> = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16LE',
  'utf-16be': 'UTF-16BE',
  'windows-1252': 'Windows-1252',
};

/** Decodes as the server does for uploaded files. @throws Error when the bytes are not text */
export function decodeText(bytes: Uint8Array): DecodedText {
  const encoding = detectTextEncoding(bytes, undefined, false);
  if (encoding === null) throw new Error('The file is not text: it contains bytes that are not valid in text');
  // Without `ignoreBOM` the decoder removes the mark.
  return { text: new TextDecoder(encoding).decode(bytes), encoding: NAMES[encoding] ?? encoding };
}
