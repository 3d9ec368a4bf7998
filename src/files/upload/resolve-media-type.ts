/**
 * The type that a file is stored and served with, from the declared type and the first bytes. A declared type is accepted only if
 * the bytes agree; an unspecific one is replaced by the detected type. Browsers show a few types inline; every other file is a
 * download.
 */
import { detectFileType, SNIFF_BYTES } from './detect-file-type.ts';
import { detectTextEncoding, UTF_8_CHARSET } from './text-encoding.ts';

export const UNKNOWN_MEDIA_TYPE = 'application/octet-stream';

/** The type of a file as it is stored. */
export interface MediaType {
  /** Lower case, without parameters. */
  readonly type: string;
  /** The encoding of text, if it is not UTF-8; otherwise null. */
  readonly charset: string | null;
}

/** Types a browser may show inline. None in which scripts of the page's origin could run: never svg, html, xml. */
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

/** Aliases of types in declarations or signatures. */
const ALIASES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'image/jpeg': 'image/jpg image/pjpeg image/x-jpeg image/jpe',
    'image/png': 'image/x-png',
    'image/bmp': 'image/x-ms-bmp image/x-bmp image/x-windows-bmp',
    'image/tiff': 'image/tif image/x-tif image/x-tiff',
    'image/x-icon': 'image/ico image/icon image/x-ico',
    'image/x-adobe-dng': 'image/dng image/x-dng',
    'audio/mpeg': 'audio/mp3 audio/x-mp3 audio/x-mpeg audio/mpeg3 audio/x-mpeg-3 audio/mpg',
    'audio/wav': 'audio/x-wav audio/wave audio/vnd.wave audio/x-pn-wav',
    'audio/x-m4a': 'audio/m4a',
    'audio/flac': 'audio/x-flac',
    'video/x-msvideo': 'video/avi video/msvideo video/vnd.avi',
    'video/x-matroska': 'video/matroska',
    'video/3gpp': 'video/3gp',
    'video/quicktime': 'video/mov',
    'application/pdf': 'application/x-pdf application/acrobat application/vnd.pdf text/pdf text/x-pdf',
    'application/zip': 'application/x-zip application/x-zip-compressed',
    'application/gzip': 'application/x-gzip',
    'font/woff': 'application/font-woff application/x-font-woff font/x-woff',
    'font/woff2': 'application/font-woff2 application/x-font-woff2',
  }).flatMap(([type, names]) => names.split(' ').map((name) => [name, type] as const)),
);

/** Declared types that mean only "some bytes". */
const SAYS_NOTHING =
  /^(?:\*\/\*|application\/\*|(?:application|binary)\/(?:x-)?octet-stream|application\/(?:x-)?(?:binary|unknown|download|force-download)|unknown\/unknown)$/;
const TEXTUAL = /^text\/|[/+](?:json|xml|yaml|javascript|ecmascript)$|^application\/(?:x-ndjson|sql|toml|rtf|graphql)$/;
const TYPE = /^(?:[a-z0-9][a-z0-9!#$&^_.+-]{0,63}|\*)\/(?:[a-z0-9][a-z0-9!#$&^_.+-]{0,126}|\*)$/;

/** Types that a signature must prove: each signature on the right proves those on the left. */
const PROOFS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  (
    [
      ['image/png image/apng', 'image/png image/apng'],
      ['image/jpeg', 'image/jpeg'],
      ['image/gif', 'image/gif'],
      ['image/webp', 'image/webp'],
      ['image/avif', 'image/avif image/heif'],
      [
        'image/heic image/heif image/heic-sequence image/heif-sequence',
        'image/heic image/heif image/heic-sequence image/heif-sequence',
      ],
      ['image/bmp', 'image/bmp'],
      ['image/x-icon image/vnd.microsoft.icon', 'image/x-icon'],
      [
        'image/tiff image/x-adobe-dng image/x-nikon-nef image/x-canon-cr2 image/x-sony-arw image/x-panasonic-rw2 image/x-olympus-orf',
        'image/tiff image/x-adobe-dng image/x-nikon-nef image/x-canon-cr2 image/x-sony-arw image/x-panasonic-rw2 image/x-olympus-orf',
      ],
      [
        'video/mp4 audio/mp4 video/x-m4v audio/x-m4a audio/x-m4b video/3gpp audio/3gpp video/3gpp2 audio/3gpp2 video/quicktime',
        'video/mp4 audio/mp4 video/x-m4v audio/x-m4a audio/x-m4b video/3gpp video/3gpp2 video/quicktime',
      ],
      ['video/webm audio/webm video/x-matroska audio/x-matroska', 'video/webm video/x-matroska'],
      ['audio/ogg video/ogg application/ogg audio/opus', 'audio/ogg video/ogg application/ogg'],
      ['audio/mpeg audio/mp2', 'audio/mpeg'],
      ['audio/wav', 'audio/wav'],
      ['audio/flac', 'audio/flac'],
      ['video/x-msvideo', 'video/x-msvideo'],
      ['application/pdf application/illustrator', 'application/pdf'],
      ['application/gzip', 'application/gzip'],
      ['font/woff', 'font/woff'],
      ['font/woff2', 'font/woff2'],
    ] as const
  ).flatMap(([types, signatures]) => {
    const proofs = new Set(signatures.split(' '));
    return types.split(' ').map((type) => [type, proofs] as const);
  }),
);
const PROVING = new Set([...PROOFS.values()].flatMap((proofs) => [...proofs]));
/** Signatures that other types are based on, such as application/x-tgz and raw photographs. */
const CONTAINERS = new Set(['application/gzip', 'image/tiff']);

/**
 * The type that a file is stored with. An unspecific declared type (none, malformed, `application/octet-stream`, `image/*`) is
 * replaced by the detected type. A type with a known signature must have it; a text type must be text; any other type must not
 * have a signature that proves another type. Otherwise it is `application/octet-stream`.
 * @param declared the Content-Type of the part
 * @param head the first `SNIFF_BYTES` of the file, fewer if it is shorter
 */
export async function resolveMediaType(declared: string | undefined, head: Buffer): Promise<MediaType> {
  const [name = '', ...parameters] = (declared ?? '').split(';').map((text) => text.trim());
  const type = canonical(name.toLowerCase());
  const charset = parameters.map((text) => /^charset="?([^"]{1,40})"?$/i.exec(text)?.[1]).find(Boolean);
  const signature = await detectFileType(head);
  const shown = signature === null ? null : canonical(signature);
  if (!TYPE.test(type) || SAYS_NOTHING.test(type)) {
    if (shown !== null) return isTextual(shown) ? text(shown, charset, head, shown) : plain(shown);
    // RFC 7578, 4.4: a part without a type is text. As the encoding is unspecified, only UTF-8 is accepted as text.
    const isText =
      (declared === undefined || type === '*/*') && detectTextEncoding(head, undefined, isCut(head)) === UTF_8_CHARSET;
    return plain(isText ? 'text/plain' : UNKNOWN_MEDIA_TYPE);
  }
  if (type === 'text/*') return text('text/plain', charset, head, shown);
  if (type.endsWith('/*')) return plain(ofGroup(type.slice(0, -1), shown));
  if (isTextual(type)) return text(type, charset, head, shown);
  const proofs = PROOFS.get(type);
  if (proofs !== undefined) return plain(shown !== null && proofs.has(shown) ? type : UNKNOWN_MEDIA_TYPE);
  return plain(shown === null || !PROVING.has(shown) || CONTAINERS.has(shown) ? type : UNKNOWN_MEDIA_TYPE);
}

function canonical(type: string): string {
  return ALIASES.get(type) ?? type;
}

function isTextual(type: string): boolean {
  return TEXTUAL.test(type);
}

function plain(type: string): MediaType {
  return { type, charset: null };
}

/** A text type, if the bytes are text. Bytes that are not UTF-8 must not have a binary signature. */
function text(type: string, charset: string | undefined, head: Buffer, shown: string | null): MediaType {
  const encoding = detectTextEncoding(head, charset, isCut(head));
  if (encoding === UTF_8_CHARSET) return plain(type);
  if (encoding === null || (shown !== null && !isTextual(shown))) return plain(UNKNOWN_MEDIA_TYPE);
  return { type, charset: encoding };
}

/** The variant among `audio/`, `image/`… that a signature proves: a container may hold audio or video. */
function ofGroup(group: string, shown: string | null): string {
  if (shown === null || shown.startsWith(group)) return shown ?? UNKNOWN_MEDIA_TYPE;
  for (const [type, proofs] of PROOFS) if (type.startsWith(group) && proofs.has(shown)) return type;
  return UNKNOWN_MEDIA_TYPE;
}

/** Whether a browser may show the type inline. */
export function isInlineType(type: string): boolean {
  return INLINE.has(type);
}

/**
 * The Content-Type of a response: text names its encoding, because otherwise browsers guess. Scripts are sent as plain text, so
 * that no page can load a stored script as its own.
 */
export function servedContentType({ type, charset }: MediaType): string {
  const encoding = charset ?? UTF_8_CHARSET;
  if (/[/](?:x-)?(?:java|ecma|j|live)script/.test(type)) return `text/plain; charset=${encoding}`;
  return type.startsWith('text/') ? `${type}; charset=${encoding}` : type;
}

/** Whether the file may have more bytes. */
function isCut(head: Buffer): boolean {
  return head.length >= SNIFF_BYTES;
}
