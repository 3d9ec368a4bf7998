/**
 * Paths: the dotted names by which clients name members, checked and turned into the stored ones (`id` is `_id`). Not
 * here: how a path reaches into arrays (evaluate/).
 */
import { type ErrorCode, MillraceError } from '../kernel/errors.ts';
import { hintFor } from '../kernel/nearest.ts';
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
  // Alone it would be a member of the filter object, which the driver takes for the mark of its own classes.
  if (path === '_bsontype') throw invalid("A path cannot be '_bsontype'");
  for (const step of steps) {
    if (step === '') throw invalid(`The path '${path}' has an empty step`);
    if (step.startsWith('$')) throw invalid(`The path '${path}' has a step that starts with '$'`);
    if (step === '__proto__') throw invalid("A path cannot contain '__proto__'");
  }
  return path;
}

/**
 * The members of `_meta` that are shown. It also holds the actor and request of the last change, which are never shown.
 */
export const META_MEMBERS: readonly string[] = ['revision', 'createdAt', 'updatedAt', 'createdBy', 'updatedBy'];

/**
 * The stored path of what a client or a policy wrote: checked, and `id` turned into `_id`. In `_meta`, only the whole
 * or one of the shown members is allowed: a hidden member must not be found out by asking for it.
 * @throws MillraceError with the code
 */
export function storedPath(path: string, code: ErrorCode = 'invalid-filter'): string {
  const checked = innerPath(path, code);
  const [first, ...rest] = checked.split('.');
  if (first === '_meta' && rest.length > 0 && !META_MEMBERS.includes(rest.join('.'))) {
    throw new MillraceError(code, `'${path.slice(0, 80)}' is not a member of _meta`, {
      hint: hintFor(rest.join('.'), META_MEMBERS),
    });
  }
  return checked === 'id' || checked.startsWith('id.') ? `_${checked}` : checked;
}

/**
 * The stored path of a filter, a sort or an index. `_meta` as a whole is refused: comparing it would compare its hidden
 * members, too.
 * @throws MillraceError with the code
 */
export function askedPath(path: string, code: ErrorCode = 'invalid-filter'): string {
  const stored = storedPath(path, code);
  if (stored !== '_meta') return stored;
  const members = META_MEMBERS.map((member) => `_meta.${member}`).join(', ');
  throw new MillraceError(code, "'_meta' as a whole cannot be used here", { hint: `Name one of ${members}.` });
}
