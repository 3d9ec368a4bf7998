/**
 * Paths: the dotted names by which clients speak of members, checked and turned into the stored ones (`id` is `_id`).
 * How a path reaches into arrays is the evaluators' matter.
 */
import { type ErrorCode, MillraceError } from '../kernel/errors.ts';
import { LIMITS } from './limits.ts';

/** The stored times of a document: always dates, however a client writes them. */
const TIME_PATHS: ReadonlySet<string> = new Set(['_meta.createdAt', '_meta.updatedAt']);

export const isTimePath = (path: string): boolean => TIME_PATHS.has(path);

/** A step that names an array's element; also an ordinary name of an object's member. */
export const isPosition = (step: string): boolean => /^(?:0|[1-9]\d*)$/.test(step);

/**
 * The path as it stands below a document's member, unchanged but checked.
 * @throws MillraceError with the code
 */
export function innerPath(path: string, code: ErrorCode = 'invalid-filter'): string {
  const invalid = (message: string): MillraceError =>
    new MillraceError(code, message, { hint: 'A path is names joined by dots, such as address.city.' });
  if (path.length > LIMITS.pathLength) throw invalid(`The path '${path.slice(0, 40)}…' is too long`);
  if (!path.isWellFormed()) throw invalid('A path contains half of a surrogate pair');
  if (path.includes('\0')) throw invalid('A path cannot contain NUL');
  const steps = path.split('.');
  if (steps.length > LIMITS.pathSteps) throw invalid(`The path '${path.slice(0, 40)}…' has too many steps`);
  // Alone it would be a member of the filter's object, which the driver takes for a mark of its own classes.
  if (path === '_bsontype') throw invalid("A path cannot be '_bsontype'");
  for (const step of steps) {
    if (step === '') throw invalid(`The path '${path}' has an empty step`);
    if (step.startsWith('$')) throw invalid(`The path '${path}' has a step that starts with '$'`);
    if (step === '__proto__') throw invalid("A path cannot contain '__proto__'");
  }
  return path;
}

/**
 * The stored path of what a client wrote: checked, and `id` turned into `_id`.
 * @throws MillraceError with the code
 */
export function storedPath(path: string, code: ErrorCode = 'invalid-filter'): string {
  const checked = innerPath(path, code);
  return checked === 'id' || checked.startsWith('id.') ? `_${checked}` : checked;
}
