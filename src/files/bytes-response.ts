/**
 * The answer to a request for a file's bytes: its status, headers and range. Pure. Not here: sending the bytes
 * (routes.ts).
 */
import { MillraceError } from '../kernel/errors.ts';
import { type ConditionHeaders, evaluateConditions, preconditionFailed, rangeAllowed } from './conditions.ts';
import { parseRange } from './range.ts';
import type { ByteRange } from './stores/file-store.ts';
import { fileTag, type StoredFile } from './upload/file.ts';
import { cleanName, contentDisposition } from './upload/file-name.ts';
import { isInline, servedType } from './upload/media-type.ts';

/**
 * What a browser may do with a file that it opens as a page: show it, and nothing else. No script runs, and the sandbox
 * gives the page an origin of its own, so it cannot reach this server's cookies or storage.
 */
const SANDBOX = "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";
/**
 * Chromium fetches media with the origin of the page, which a sandbox does not allow (tried). Scripts stay forbidden.
 */
const PLAYER = "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'";

export interface BytesAnswer {
  readonly status: 200 | 206 | 304;
  readonly headers: Readonly<Record<string, string | number>>;
  /** What to send; undefined for no body. */
  readonly range: ByteRange | 'whole' | undefined;
}

/**
 * Plans the answer to a GET or HEAD of a file's bytes.
 * @throws MillraceError `precondition-failed`, `range-not-satisfiable`
 */
export function answerBytes(method: string, headers: ConditionHeaders, file: StoredFile): BytesAnswer {
  // Some names did not come in by an upload: if the file's name is hidden, the name in the signed address is used.
  const name = cleanName(file.name);
  const validators = { etag: fileTag(file), lastModified: file.createdAt };
  const always = {
    etag: validators.etag,
    'last-modified': file.createdAt.toUTCString(),
    'accept-ranges': 'bytes',
    'content-disposition': contentDisposition(isInline(file.type) ? 'inline' : 'attachment', name),
    'content-security-policy': /^(?:audio|video)\//.test(file.type) ? PLAYER : SANDBOX,
  };
  const condition = evaluateConditions(headers, validators);
  if (condition === 'not-modified') return { status: 304, headers: always, range: undefined };
  if (condition === 'failed') throw preconditionFailed(validators);
  const typed = { ...always, 'content-type': servedType(file) };
  // Ranges are defined for GET alone (RFC 9110 section 14.2).
  const asked = method === 'GET' && rangeAllowed(headers, validators) ? headers['range'] : undefined;
  const range = parseRange(Array.isArray(asked) ? asked.join(', ') : asked, file.size);
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
