/**
 * Entity tags and the conditions that requests put on them (RFC 9110 sections 8.8.3 and 13.1). Pure.
 */
import { hash } from 'node:crypto';
import { isSameEntityTag } from '../../lib/entity-tags.ts';
import { MillraceError } from '../../lib/errors.ts';

/** `*`, or the tags of an `If-Match` or `If-None-Match` header as sent. */
export type EntityTags = '*' | readonly string[];

/** The conditions of one request. */
export interface Preconditions {
  readonly ifMatch: EntityTags | undefined;
  readonly ifNoneMatch: EntityTags | undefined;
}

export const NO_PRECONDITIONS: Preconditions = { ifMatch: undefined, ifNoneMatch: undefined };

/** The tag of a document that exists but is not visible: it equals no tag, and is never sent. */
export const HIDDEN_DOCUMENT_TAG = '';

/**
 * The strong entity tag of a stored document: `"<revision>-<hash of the raw BSON>"`. A change by another program keeps
 * the revision, but changes the hash.
 */
export function documentTag(raw: Uint8Array, revision: number): string {
  return `"${revision}-${hash('sha1', raw, 'base64url')}"`;
}

/**
 * Parses `If-Match` and `If-None-Match`.
 * @throws MillraceError `malformed-request` when a header is not a list of entity tags
 */
export function parsePreconditions(headers: {
  readonly 'if-match'?: string | undefined;
  readonly 'if-none-match'?: string | undefined;
}): Preconditions {
  const ifMatch = headers['if-match'];
  const ifNoneMatch = headers['if-none-match'];
  if (ifMatch === undefined && ifNoneMatch === undefined) return NO_PRECONDITIONS;
  return { ifMatch: parseTags('If-Match', ifMatch), ifNoneMatch: parseTags('If-None-Match', ifNoneMatch) };
}

function parseTags(name: string, header: string | undefined): EntityTags | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return '*';
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  const rest = header.replace(/(?:W\/)?"[^"]*"/g, '').replace(/[\s,]/g, '');
  if (rest === '' && tags.length > 0) return tags;
  throw new MillraceError('malformed-request', `${name} is not a list of entity tags`, {
    hint: 'Send the ETag of an earlier response with its quotes',
  });
}

/** `If-None-Match`: true when the client's copy is the current one. */
export function matchesIfNoneMatch(condition: EntityTags | undefined, current: string): boolean {
  return condition !== undefined && names(condition, current);
}

function names(condition: EntityTags, current: string): boolean {
  return condition === '*' || condition.some((tag) => isSameEntityTag(tag, current));
}

/**
 * Checks the conditions of a write.
 * @param current the entity tag of the current document, null when there is none
 * @throws MillraceError `precondition-failed`, with the current tag as `ETag`
 */
export function checkPreconditions({ ifMatch, ifNoneMatch }: Preconditions, current: string | null): void {
  const matched = ifMatch === undefined || (current !== null && names(ifMatch, current));
  const unmatched = ifNoneMatch === undefined || current === null || !matchesIfNoneMatch(ifNoneMatch, current);
  if (matched && unmatched) return;
  const [name, holds] = matched ? ['If-None-Match', 'matches'] : ['If-Match', 'does not match'];
  const state = current === null ? 'does not exist' : 'has another entity tag';
  throw new MillraceError('precondition-failed', matched ? 'The document already exists' : `The document ${state}`, {
    hint: `${name} ${holds} its current state`,
    headers: current === null || current === HIDDEN_DOCUMENT_TAG ? {} : { etag: current },
  });
}

/** The entity tag of something other than a document, by its version. */
export function versionTag(version: string | number): string {
  return `"${version}"`;
}

/**
 * The conditions of a request for something that has a version.
 * @returns a check of the version that a change would replace, null when there is none; it throws what
 * `checkPreconditions` does
 * @throws MillraceError `malformed-request`
 */
export function parseVersionPrecondition(
  headers: Parameters<typeof parsePreconditions>[0],
): (version: string | number | null) => void {
  const preconditions = parsePreconditions(headers);
  return (version) => checkPreconditions(preconditions, version === null ? null : versionTag(version));
}
