/**
 * Strict decoding of a JSON request body: the result can be stored and read back unchanged; anything else is rejected,
 * with a JSON Pointer.
 */
import { isUtf8 } from 'node:buffer';
import { MillraceError } from '../../lib/errors.ts';
import { parseJsonExactNames } from '../../lib/exact-json.ts';
import { findJsonIssue, jsonPointer } from './json-errors.ts';

/** Deepest nesting of a stored document; the outer object is depth 1. */
export const MAX_DOCUMENT_DEPTH = 100;

/**
 * Patterns that may need a rejection: escapes that can form a dangerous key or a lone surrogate, the dangerous keys
 * themselves, and exponents of three digits. A match only starts the slow check.
 */
const SUSPECT = /\\u(?:00[0-7]|[dD][89a-fA-F])|__proto__|_bsontype|constructor|[0-9][eE]\+?[0-9]{3}/;

/** 2^53 has 16 digits, so a shorter run of digits is exact. */
const LONG_RUN = 16;

/**
 * Decodes a JSON text strictly (RFC 8259); of duplicate keys the last one wins.
 * @throws MillraceError `malformed-json` (not UTF-8, a byte order mark, empty, not JSON), `json-too-deep` (over 100 levels),
 *   `unsupported-value` (integer beyond ±2^53, number beyond a double, lone surrogate), `unsupported-field-name` (NUL,
 *   `__proto__`, `constructor` with a `prototype`, `_bsontype`); the last two name the place in `issues`.
 */
export function parseStrictJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new MillraceError('malformed-json', 'The body is empty');
  if (!isUtf8(bytes)) throw new MillraceError('malformed-json', 'The body is not valid UTF-8');
  const text = bytes.toString('utf8');
  if (text.charCodeAt(0) === 0xfeff) {
    throw new MillraceError('malformed-json', 'The body starts with a byte order mark', {
      hint: 'Send UTF-8 without a byte order mark.',
    });
  }
  if (isDeeper(bytes, text)) {
    throw new MillraceError('json-too-deep', `The JSON is nested more than ${MAX_DOCUMENT_DEPTH} levels deep`);
  }
  const value = parse(text);
  if (SUSPECT.test(text) || hasLongRun(bytes)) {
    const issue = findJsonIssue(text);
    if (issue) throw new MillraceError(issue.code, issue.detail, { issues: [issue] });
  }
  return value;
}

/**
 * Rejects a document with a field `_id`: the database would take it for the document's id, which is called `id` here.
 * @param pointer JSON Pointer of the document inside the body, empty for the body itself
 * @throws MillraceError `unsupported-field-name`
 */
export function rejectStoredIdField(document: object, pointer = ''): void {
  if (!Object.hasOwn(document, '_id')) return;
  const detail = 'The field "_id" is reserved for the database';
  throw new MillraceError('unsupported-field-name', detail, {
    hint: 'The id of a document is its field "id".',
    issues: [{ pointer: pointer + jsonPointer(['_id']), code: 'unsupported-field-name', detail }],
  });
}

function parse(text: string): unknown {
  try {
    return parseJsonExactNames(text);
  } catch (cause) {
    // V8's message quotes the body, so only the position of the error is used.
    const position = cause instanceof Error ? /line \d+ column \d+/.exec(cause.message)?.[0] : undefined;
    throw new MillraceError(
      'malformed-json',
      position ? `The body is not valid JSON: ${position}` : 'The body is not valid JSON',
      {
        cause,
      },
    );
  }
}

/** Whether brackets nest deeper than MAX_DEPTH. Only a text with that many brackets is read byte by byte. */
function isDeeper(bytes: Buffer, text: string): boolean {
  let openers = 0;
  for (const bracket of '{[') {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++openers > MAX_DOCUMENT_DEPTH) return deepest(bytes) > MAX_DOCUMENT_DEPTH;
    }
  }
  return false;
}

function deepest(bytes: Buffer): number {
  let depth = 0;
  let most = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === 0x22) {
      for (i++; i < bytes.length && bytes[i] !== 0x22; i++) if (bytes[i] === 0x5c) i++;
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > most) most = depth;
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return most;
}

/**
 * Whether there are 16 digits in a row. Such a run covers an offset that is a multiple of 16, so only every 16th byte
 * is checked first.
 */
function hasLongRun(bytes: Buffer): boolean {
  for (let i = 0; i < bytes.length; i += LONG_RUN) {
    if (!isDigit(bytes[i])) continue;
    let first = i;
    let last = i;
    while (isDigit(bytes[first - 1])) first--;
    while (isDigit(bytes[last + 1])) last++;
    if (last - first + 1 >= LONG_RUN) return true;
    i = last - (last % LONG_RUN);
  }
  return false;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}
