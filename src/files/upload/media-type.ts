/**
 * The type that a file is served as. Pure. It is found from the first bytes and compared with the declared type, which
 * is accepted only if the bytes agree. Browsers show a few types in place; every other file is a download. Not here:
 * the names of files (file-name.ts).
 */

/** How many first bytes `sniff` wants to see. */
export const SNIFF_BYTES = 1_024;

export const UNKNOWN = 'application/octet-stream';

/** Types a browser may show in place. Nothing in which scripts of the page's origin could run: never svg, html, xml. */
const INLINE = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'application/pdf',
  'video/mp4',
  'video/webm',
  'audio/mpeg',
  'text/plain',
]);

/** Other names under which clients declare a type. */
const ALIASES: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'audio/mp3': 'audio/mpeg',
  'application/x-pdf': 'application/pdf',
  'application/x-zip-compressed': 'application/zip',
  'application/x-gzip': 'application/gzip',
  'audio/x-wav': 'audio/wav',
};

/** Signatures: offset, bytes as Latin-1 text, and the types they identify. `?` stands for any byte. */
const SIGNATURES: readonly (readonly [number, string, readonly string[]])[] = [
  [0, '\x89PNG\r\n\x1a\n', ['image/png', 'image/apng']],
  [0, '\xff\xd8\xff', ['image/jpeg']],
  [0, 'GIF87a', ['image/gif']],
  [0, 'GIF89a', ['image/gif']],
  [0, 'RIFF????WEBP', ['image/webp']],
  [0, 'RIFF????WAVE', ['audio/wav']],
  [0, 'RIFF????AVI ', ['video/x-msvideo']],
  [4, 'ftypavif', ['image/avif']],
  [4, 'ftypavis', ['image/avif']],
  [4, 'ftyphei', ['image/heic', 'image/heif']],
  [4, 'ftypmif1', ['image/heif', 'image/heic', 'image/avif']],
  [4, 'ftypqt  ', ['video/quicktime']],
  [4, 'ftypM4A ', ['audio/mp4', 'audio/x-m4a']],
  [4, 'ftyp', ['video/mp4', 'audio/mp4']],
  [0, '\x1aE\xdf\xa3', ['video/webm', 'audio/webm', 'video/x-matroska']],
  [0, 'ID3', ['audio/mpeg']],
  [0, '\xff\xfb', ['audio/mpeg']],
  [0, '\xff\xf3', ['audio/mpeg']],
  [0, '\xff\xf2', ['audio/mpeg']],
  [0, 'OggS', ['audio/ogg', 'video/ogg', 'application/ogg']],
  [0, 'fLaC', ['audio/flac']],
  [0, '%PDF-', ['application/pdf']],
  [0, 'BM', ['image/bmp']],
  [0, 'II*\0', ['image/tiff']],
  [0, 'MM\0*', ['image/tiff']],
  [0, '\0\0\x01\0', ['image/x-icon', 'image/vnd.microsoft.icon']],
  [0, '\x1f\x8b', ['application/gzip']],
  [0, 'wOFF', ['font/woff']],
  [0, 'wOF2', ['font/woff2']],
];

const SIGNED = new Set(SIGNATURES.flatMap(([, , types]) => types));
const TEXTUAL = /^text\/|[/+](?:json|xml|yaml|javascript|ecmascript)$|^application\/(?:x-ndjson|sql|toml|rtf|graphql)$/;

/**
 * The type that a file is stored with: the declared one when the first bytes agree, else `application/octet-stream`. A
 * type with a known signature must show it; a text type must be text; for any other type the bytes must not show a
 * known signature.
 * @param declared the Content-Type of the part
 * @param head the first `SNIFF_BYTES` of the file, fewer when it is shorter
 */
export function agreedType(declared: string | undefined, head: Buffer): string {
  const plain = (declared ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (!/^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/.test(plain)) return UNKNOWN;
  const type = Object.hasOwn(ALIASES, plain) ? (ALIASES[plain] ?? plain) : plain;
  if (TEXTUAL.test(type)) return isText(head) ? type : UNKNOWN;
  const sniffed = sniff(head);
  if (SIGNED.has(type)) return sniffed.includes(type) ? type : UNKNOWN;
  return sniffed.length === 0 ? type : UNKNOWN;
}

/** The types whose signature the first bytes carry; none when no signature is known. */
function sniff(head: Buffer): readonly string[] {
  const text = head.toString('latin1', 0, 32);
  const found = SIGNATURES.find(([offset, mark]) => [...mark].every((c, i) => c === '?' || c === text[offset + i]));
  return found?.[2] ?? [];
}

/** Text as the MIME Sniffing Standard sees it (no binary data bytes), and valid UTF-8 up to a character cut in two. */
function isText(head: Buffer): boolean {
  for (const byte of head) {
    if (byte <= 0x08 || byte === 0x0b || (byte >= 0x0e && byte <= 0x1a) || (byte >= 0x1c && byte <= 0x1f)) return false;
  }
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Whether a browser may show the type in place. */
export function isInline(type: string): boolean {
  return INLINE.has(type);
}

/**
 * The Content-Type of an answer: text names its encoding, because otherwise a browser would guess. Scripts are sent as
 * plain text, so that no page can load a stored script as its own.
 */
export function servedType(type: string): string {
  if (/[/](?:x-)?(?:java|ecma|j|live)script/.test(type)) return 'text/plain; charset=utf-8';
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type;
}
