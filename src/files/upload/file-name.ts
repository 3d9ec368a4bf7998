/**
 * Cleans the client's name of a file, and encodes it for headers and URLs. Pure. A name is only shown: it never becomes a part of
 * a path or a key, nor of a header unescaped.
 */

/** Maximum bytes of a name in UTF-8, as in most file systems. */
const MAX_BYTES = 255;
const FALLBACK = 'file';

// Control characters, and marks that reverse the direction of text, with which `exe.png` can hide `gnp.exe`.
const UNSHOWABLE = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/**
 * Cleans the name of an upload: the last part of a path, without control and direction characters, in NFC, at most 255 bytes with
 * its extension preserved. A name of only dots or spaces becomes `file`.
 */
export function sanitizeFileName(given: string | undefined): string {
  const last = (given ?? '').split(/[/\\]/).at(-1) ?? '';
  // In this order: removing a mark may leave characters that compose.
  const shown = last.toWellFormed().replace(UNSHOWABLE, '').normalize('NFC').trim();
  return /^\.*$/.test(shown) ? FALLBACK : shorten(shown);
}

function shorten(name: string): string {
  if (Buffer.byteLength(name) <= MAX_BYTES) return name;
  const extension = /\.[A-Za-z0-9]{1,16}$/.exec(name)?.[0] ?? '';
  let room = MAX_BYTES - extension.length;
  let kept = '';
  for (const character of name.slice(0, name.length - extension.length)) {
    room -= Buffer.byteLength(character);
    if (room < 0) break;
    kept += character;
  }
  return kept.trimEnd() + extension;
}

/** A name as one segment of a path (RFC 3986). Dot segments cannot occur: `sanitizeFileName` leaves none. */
export function encodeNameForPath(name: string): string {
  return encodeURIComponent(name).replace(/[!'()*]/g, percent);
}

/**
 * The Content-Disposition of a response (RFC 6266): an ASCII name for old clients, and the true one as RFC 8187 defines it if
 * they differ. Percent signs are removed from the ASCII name because some clients decode them.
 * @param name cleaned
 */
export function contentDisposition(kind: 'inline' | 'attachment', name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]/gu, '_').replace(/["\\%]/g, '_');
  if (ascii === name) return `${kind}; filename="${ascii}"`;
  const exact = encodeURIComponent(name).replace(/['()*]/g, percent);
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${exact}`;
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
