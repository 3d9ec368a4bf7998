/** Limits of every change by paths: names that can be stored, fields that only the server sets, and depth. */
import { fieldNameProblem, jsonPointer } from '../../database/json/json-errors.ts';
import { MAX_DOCUMENT_DEPTH } from '../../database/json/parse-json.ts';
import { MillraceError } from '../../lib/errors.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { SERVER_FIELDS } from '../../lib/server-fields.ts';

/** Maximum operations of one patch, or paths of one update. */
export const MAX_PATCH_OPERATIONS = 1_000;

/** The error of a patch, or of one part of it. */
export function invalidPatch(message: string, hint?: string): MillraceError {
  return new MillraceError('invalid-patch', message, hint === undefined ? {} : { hint });
}

/**
 * Checks that the path of a change may be changed. The server's fields can only be read.
 * @throws MillraceError `invalid-patch` for the server's own fields, `unsupported-field-name` for names that cannot be
 * stored
 */
export function checkChangedPath(path: readonly string[]): void {
  const [first] = path;
  if (first !== undefined && SERVER_FIELDS.has(first))
    throw invalidPatch(`'${first}' is set by the server and cannot be changed`);
  for (let length = 1; length <= path.length; length++) {
    // Only the last two names matter for the check, and a path may have a million names.
    const problem = fieldNameProblem(path.slice(Math.max(0, length - 2), length), path[length - 1] ?? '');
    if (problem !== null) refuseKey(path.slice(0, length), problem);
  }
}

/**
 * Checks a new field against the limits of a document: no hidden prototype, at most 100 levels of nesting.
 * @param depth levels of nesting inside the value
 */
export function checkNestingAndPrototype(path: readonly string[], value: unknown, depth: number): void {
  if (path.at(-1) === 'constructor' && isPlainObject(value) && Object.hasOwn(value, 'prototype')) {
    refuseKey([...path, 'prototype'], 'The key "constructor" must not contain "prototype"');
  }
  checkDocumentDepth(path.length + depth);
}

export function checkDocumentDepth(depth: number): void {
  if (depth <= MAX_DOCUMENT_DEPTH) return;
  throw new MillraceError('json-too-deep', `The document would be nested more than ${MAX_DOCUMENT_DEPTH} levels deep`);
}

function refuseKey(path: readonly string[], detail: string): never {
  throw new MillraceError('unsupported-field-name', detail, {
    issues: [{ pointer: jsonPointer(path).toWellFormed(), code: 'unsupported-field-name', detail }],
  });
}
