/** Parses the headers of one part of a form: field name, file name and type. Pure. */

/** Headers of a part from the parser: by name in lower case, each character one byte. */
export type RawPartHeaders = Readonly<Record<string, readonly string[] | undefined>>;

export interface ParsedPartHeaders {
  readonly field: string | undefined;
  /** Undefined for a part that is not a file; empty if no file was chosen. */
  readonly fileName: string | undefined;
  readonly type: string | undefined;
}

// A parameter of RFC 6266: a token, and a quoted text (in which browsers do not escape backslashes) or a token.
const PARAMETER = /;[ \t]*([^\s=;"]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[\s\S])*)"|([^;]*))/g;

/** The parsed headers of a part, or null for a part that is not a form field. */
export function parsePartHeaders(headers: RawPartHeaders): ParsedPartHeaders | null {
  const disposition = headers['content-disposition']?.[0] ?? '';
  if (!/^[ \t]*form-data[ \t]*(?:;|$)/i.test(disposition)) return null;
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, token = ''] of disposition.matchAll(PARAMETER)) {
    const value = quoted === undefined ? token.trim() : quoted.replace(/\\(["\\])/g, '$1');
    if (!parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), value);
  }
  const plain = parameters.get('filename');
  const extended = parameters.get('filename*');
  const field = parameters.get('name');
  return {
    field: field === undefined ? undefined : unescaped(field),
    fileName: (extended && decodeExtended(extended)) ?? (plain === undefined ? undefined : unescaped(plain)),
    type: headers['content-type']?.[0],
  };
}

/** Reverses the escaping of field and file names by browsers (HTML, "multipart/form-data"): `"`, CR and LF. */
function unescaped(value: string): string {
  return decoded(value).replace(/%(22|0[DAda])/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** UTF-8, as browsers send it; Latin-1 if the bytes are not valid UTF-8. */
function decoded(bytes: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return bytes;
  }
}

/** The value of `filename*` (RFC 8187), such as `UTF-8'en'%C3%A4.txt`; undefined if it is malformed. */
function decodeExtended(value: string): string | undefined {
  const [, charset = '', text = ''] = /^([^']+)'[^']*'(.*)$/s.exec(value) ?? [];
  if (text === '' || /%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  const bytes = text.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  try {
    return new TextDecoder(charset, { fatal: true }).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}
