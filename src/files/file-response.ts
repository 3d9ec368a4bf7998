/** The response to a request for a file's bytes: status, headers and range. Pure. */
import { MillraceError } from '../lib/errors.ts';
import { type ConditionHeaders, evaluateConditions, isRangeAllowed, preconditionFailed } from './conditions.ts';
import { parseRange } from './range.ts';
import type { ByteRange } from './stores/file-store.ts';
import { fileEntityTag, type StoredFile } from './upload/file.ts';
import { contentDisposition, sanitizeFileName } from './upload/file-name.ts';
import { isInlineType, servedContentType } from './upload/resolve-media-type.ts';

/**
 * Content security policy for a file opened as a page: no scripts, and an opaque origin, so that it cannot reach this server's
 * cookies or storage.
 */
const SANDBOX = "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";
/** Chromium fetches media with the origin of the page, which a sandbox does not allow (tested). Scripts stay forbidden. */
const PLAYER = "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'";

export interface FileBytesResponse {
  readonly status: 200 | 206 | 304;
  readonly headers: Readonly<Record<string, string | number>>;
  /** What to send; undefined for no body. */
  readonly range: ByteRange | 'whole' | undefined;
}

/**
 * Plans the response to a GET or HEAD of a file's bytes.
 * @throws MillraceError `precondition-failed`, `range-not-satisfiable`
 */
export function planFileResponse(method: string, headers: ConditionHeaders, file: StoredFile): FileBytesResponse {
  // Some names did not come in by an upload: if the file's name is hidden, the name in the signed URL is used.
  const name = sanitizeFileName(file.name);
  const validators = { etag: fileEntityTag(file), lastModified: file.createdAt };
  const always = {
    etag: validators.etag,
    'last-modified': file.createdAt.toUTCString(),
    'accept-ranges': 'bytes',
    'content-disposition': contentDisposition(isInlineType(file.type) ? 'inline' : 'attachment', name),
    'content-security-policy': /^(?:audio|video)\//.test(file.type) ? PLAYER : SANDBOX,
  };
  const condition = evaluateConditions(headers, validators);
  if (condition === 'not-modified') return { status: 304, headers: always, range: undefined };
  if (condition === 'failed') throw preconditionFailed(validators);
  const typed = { ...always, 'content-type': servedContentType(file) };
  // Ranges are defined for GET alone (RFC 9110 section 14.2).
  const requested = method === 'GET' && isRangeAllowed(headers, validators) ? headers['range'] : undefined;
  const range = parseRange(Array.isArray(requested) ? requested.join(', ') : requested, file.size);
  if (range === 'unsatisfiable') {
    throw new MillraceError('range-not-satisfiable', `The file has ${file.size} bytes`, {
      headers: { 'content-range': `bytes */${file.size}`, 'accept-ranges': 'bytes' },
    });
  }
  if (range === 'whole') {
    const body = method === 'GET' ? 'whole' : undefined;
    return { status: 200, headers: { ...typed, 'content-length': file.size }, range: body };
  }
  const content = {
    'content-range': `bytes ${range.start}-${range.end}/${file.size}`,
    'content-length': range.end - range.start + 1,
  };
  return { status: 206, headers: { ...typed, ...content }, range };
}
