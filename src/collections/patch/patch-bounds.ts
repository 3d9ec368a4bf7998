/**
 * What every change by paths must respect: names that can be stored, members that only the server sets, and depth. Not
 * here: how a path is written (json-patch.ts, dotted-path.ts), and how much work a patch may do (draft.ts).
 */
import { keyProblem, pointerTo } from '../../database/json/json-faults.ts';
import { MAX_DEPTH } from '../../database/json/parse-json.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { isPlain } from '../../kernel/objects.ts';
import { SERVER_MEMBERS } from '../../kernel/server-members.ts';

/** Operations of one patch, or paths of one update. */
export const MAX_PATCH_OPERATIONS = 1_000;

/** The refusal of a patch, or of one part of it. */
export function invalidPatch(message: string, hint?: string): MillraceError {
  return new MillraceError('invalid-patch', message, hint === undefined ? {} : { hint });
}

/**
 * Holds the path of a change to what may be changed. Members of the server may only be read.
 * @throws MillraceError `invalid-patch` for the server's own members, `unsupported-key` for names that cannot be stored
 */
export function checkChangedPath(path: readonly string[]): void {
  const [first] = path;
  if (first !== undefined && SERVER_MEMBERS.has(first))
    throw invalidPatch(`'${first}' is set by the server and cannot be changed`);
  for (let length = 1; length <= path.length; length++) {
    // Only the name above the last one matters for the check, and a path may have a million names.
    const problem = keyProblem(path.slice(Math.max(0, length - 2), length), path[length - 1] ?? '');
    if (problem !== null) refuseKey(path.slice(0, length), problem);
  }
}

/**
 * Checks a new member against what one document may hold: no hidden prototype, at most 100 levels of nesting.
 * @param depth levels of nesting inside the value
 */
export function checkChange(path: readonly string[], value: unknown, depth: number): void {
  if (path.at(-1) === 'constructor' && isPlain(value) && Object.hasOwn(value, 'prototype')) {
    refuseKey([...path, 'prototype'], 'The key "constructor" may not hold a "prototype"');
  }
  checkDepth(path.length + depth);
}

export function checkDepth(depth: number): void {
  if (depth <= MAX_DEPTH) return;
  throw new MillraceError('too-deep', `The document would be nested more than ${MAX_DEPTH} levels deep`);
}

function refuseKey(path: readonly string[], detail: string): never {
  throw new MillraceError('unsupported-key', detail, {
    faults: [{ pointer: pointerTo(path).toWellFormed(), code: 'unsupported-key', detail }],
  });
}
