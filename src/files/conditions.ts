/**
 * Conditional requests for the bytes of a file (RFC 9110 section 13). Pure. The bytes of a file never change, so its entity tag
 * is strong and derived from their SHA-256, and its date is the upload time.
 */
import { isSameEntityTag } from '../lib/entity-tags.ts';
import { MillraceError } from '../lib/errors.ts';

/** The validators that conditions are compared with. */
export interface Validators {
  /** Entity tag with its quotes; empty for a file that the client cannot read: it equals no tag, and is never sent. */
  readonly etag: string;
  readonly lastModified: Date;
}

/** The request's conditional headers, by lower-case name. */
export type ConditionHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** `proceed`: respond as if unconditional. The others name the response status. */
export type ConditionResult = 'proceed' | 'not-modified' | 'failed';

/** Evaluates the four preconditions in the order of section 13.2.2, for GET and HEAD. */
export function evaluateConditions(headers: ConditionHeaders, validators: Validators): ConditionResult {
  const ifMatch = text(headers['if-match']);
  if (ifMatch !== undefined) {
    if (!lists(ifMatch, validators.etag)) return 'failed';
  } else {
    const unmodifiedSince = date(headers['if-unmodified-since']);
    if (unmodifiedSince !== undefined && seconds(validators.lastModified) > seconds(unmodifiedSince)) return 'failed';
  }
  const ifNoneMatch = text(headers['if-none-match']);
  if (ifNoneMatch !== undefined) return lists(ifNoneMatch, validators.etag) ? 'not-modified' : 'proceed';
  const modifiedSince = date(headers['if-modified-since']);
  if (modifiedSince !== undefined && seconds(validators.lastModified) <= seconds(modifiedSince)) return 'not-modified';
  return 'proceed';
}

/**
 * Checks the conditions of a write; `If-Modified-Since` does not apply to writes (section 13.1.3).
 * @param validators those of the file, null if there is none
 * @throws MillraceError `precondition-failed`
 */
export function requireConditions(headers: ConditionHeaders, validators: Validators | null): void {
  if (validators === null) {
    if (headers['if-match'] !== undefined) throw preconditionFailed(null);
  } else if (evaluateConditions({ ...headers, 'if-modified-since': undefined }, validators) !== 'proceed') {
    throw preconditionFailed(validators);
  }
}

/** @param validators of the current file, for the error; null if there is no file */
export function preconditionFailed(validators: Validators | null): MillraceError {
  return new MillraceError('precondition-failed', 'The file does not meet the condition of the request', {
    headers: validators === null || validators.etag === '' ? {} : { etag: validators.etag },
  });
}

/**
 * Whether If-Range allows a Range (section 13.1.5): the strong tag is equal, or the date equals Last-Modified. Otherwise the
 * client may hold other bytes, such as compressed ones, and gets the whole file.
 */
export function isRangeAllowed(headers: ConditionHeaders, validators: Validators): boolean {
  const ifRange = text(headers['if-range']);
  if (ifRange === undefined) return true;
  if (ifRange.startsWith('"')) return ifRange === validators.etag;
  const since = date(ifRange);
  return since !== undefined && seconds(since) === seconds(validators.lastModified);
}

/** Whether a list of entity tags, or `*`, matches a tag. */
function lists(header: string, etag: string): boolean {
  if (header.trim() === '*') return true;
  const tags = header.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g) ?? [];
  return tags.some((tag) => isSameEntityTag(tag, etag));
}

function text(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value?.trim();
}

/** An HTTP date; anything else counts as absent (section 13.1.3). */
function date(value: string | string[] | undefined): Date | undefined {
  const raw = text(value);
  if (raw === undefined || !/^[A-Z][a-z]{2},? .*\d{4}/.test(raw)) return undefined;
  const time = Date.parse(raw);
  return Number.isNaN(time) ? undefined : new Date(time);
}

/** HTTP dates have whole seconds. */
function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1_000);
}
