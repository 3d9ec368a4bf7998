/**
 * Detects the type of a file by its first bytes. Uses the package `file-type`, adds a few missing signatures, and rejects
 * two-byte signatures that match by chance.
 */

/** First bytes that the signatures need: those of archives and raw photographs are long. */
export const SNIFF_BYTES = 4_100;

/** Signatures that the package does not know, or knows only in longer files: offset, bytes as Latin-1 text, type. */
const MORE: readonly (readonly [number, string, string])[] = [
  [0, '\x89PNG\r\n\x1a\n', 'image/png'],
  [0, 'ID3', 'audio/mpeg'],
  [0, 'OggS', 'application/ogg'],
  [0, 'wOFF', 'font/woff'],
  [0, 'wOF2', 'font/woff2'],
  [0, '\x1aE\xdf\xa3', 'video/x-matroska'],
  [4, 'skip', 'video/quicktime'],
  [4, 'pnot', 'video/quicktime'],
  [4, 'ftyp', 'video/mp4'],
];

/** The type of the first `SNIFF_BYTES` of a file in lower case, without parameters, or null if none is recognized. */
export async function detectFileType(head: Buffer): Promise<string | null> {
  // Loaded with the first upload: a start does not need it.
  const { fileTypeFromBuffer } = await import('file-type');
  const found = await fileTypeFromBuffer(head).catch(() => undefined);
  const type = found?.mime.split(';', 1)[0]?.toLowerCase() ?? null;
  if (type === 'image/bmp' && !isBitmap(head)) return null;
  if (type === 'audio/mpeg' && head[0] === 0xff && !isMpegFrame(head)) return null;
  if (type !== null) return type;
  const text = head.toString('latin1', 0, 16);
  return MORE.find(([offset, mark]) => text.startsWith(mark, offset))?.[2] ?? null;
}

/** After the letters BM and its size, a bitmap has four reserved bytes, which are zero. */
function isBitmap(head: Buffer): boolean {
  return head.length >= 10 && head.readUInt32LE(6) === 0;
}

/** Whether the first four bytes can be the header of an MPEG audio frame: no field has a reserved value. */
function isMpegFrame(head: Buffer): boolean {
  if (head.length < 4) return false;
  const word = head.readUInt32BE(0);
  const version = (word >>> 19) & 3;
  const layer = (word >>> 17) & 3;
  const bitrate = (word >>> 12) & 15;
  const rate = (word >>> 10) & 3;
  return version !== 1 && layer !== 0 && bitrate !== 15 && rate !== 3;
}
