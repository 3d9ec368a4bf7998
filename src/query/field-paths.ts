/** Paths: the dotted names of fields in requests, checked and turned into the stored ones (`id` is `_id`). */
import { didYouMeanHint } from '../lib/did-you-mean.ts';
import { type ErrorCode, MillraceError } from '../lib/errors.ts';
import { QUERY_LIMITS } from './limits.ts';

/** The stored times of a document: always dates, in whatever form a client writes them. */
const TIME_PATHS: ReadonlySet<string> = new Set(['_meta.createdAt', '_meta.updatedAt']);

export const isMetaTimePath = (path: string): boolean => TIME_PATHS.has(path);

/** A step that names an array's element; also an ordinary field name of an object. */
export const isArrayPosition = (step: string): boolean => /^(?:0|[1-9]\d*)$/.test(step);

/**
 * The names of a stored path. Names are joined by dots; a dot within a name is stored as NUL, which no name contains.
 */
export function splitPath(path: string): string[] {
  return path.includes('\0') ? path.split('.').map((step) => step.replaceAll('\0', '.')) : path.split('.');
}

/** The stored path of these names. */
export function joinPath(names: readonly string[]): string {
  return names.map((name) => name.replaceAll('.', '\0')).join('.');
}

/** True if a name of the stored path has a dot, begins with `$` or is empty: the database has no path for it. */
export function isEscapedPath(path: string): boolean {
  return path.includes('\0') || path.split('.').some((step) => step === '' || step.startsWith('$'));
}

/** A stored path as clients write it: `_id` is `id` to them, and names that are no plain step are in `['…']`. */
export function clientPath(path: string): string {
  const [first = '', ...rest] = splitPath(path);
  return [first === '_id' ? 'id' : first, ...rest].reduce(appendPathField, '');
}

/** The written path of a field below a written path; that of the whole document is empty. */
export function appendPathField(written: string, name: string): string {
  if (name === '' || /^[$-]|[.,[\]]/.test(name)) return `${written}['${name.replaceAll(/['\\]/g, '\\$&')}']`;
  return written === '' ? name : `${written}.${name}`;
}

const STEP = /\['((?:[^'\\]|\\.)*)'\]|[^.]*?(?=\['|\.|$)/sy;

/** The names in a written path: bare ones joined by dots, and any name as `['name']`; null if it is neither. */
function namesOf(path: string): string[] | null {
  const names: string[] = [];
  for (let at = 0; ; ) {
    STEP.lastIndex = at;
    const [step = null, quoted] = STEP.exec(path) ?? [];
    if (step === null || (step === '' && path.startsWith("['", at))) return null;
    names.push(quoted === undefined ? step : quoted.replaceAll(/\\(.)/gs, '$1'));
    at += step.length;
    if (at === path.length) return names;
    if (path[at] === '.') at += 1;
    else if (!path.startsWith("['", at)) return null;
    if (at === path.length) return [...names, ''];
  }
}

/** Splits a list at its commas, except those within `['…']`. */
export function splitPathList(text: string): string[] {
  return text.includes("['")
    ? (text.match(/(?:\['(?:[^'\\]|\\.)*'\]|[^,])+|(?<=^|,)(?=,|$)/gs) ?? [''])
    : text.split(',');
}

/**
 * The path below a document's field, checked. A name with a dot, a leading `$` or no characters is written `['name']`.
 * @throws MillraceError with the code
 */
export function parseDocumentPath(path: string, code: ErrorCode = 'invalid-filter'): string {
  const invalid = (message: string, hint = 'A path is names joined by dots, such as address.city.'): MillraceError =>
    new MillraceError(code, message, { hint });
  const shown = path.slice(0, 40);
  if (path.length > QUERY_LIMITS.pathLength) throw invalid(`The path '${shown}…' is too long`);
  if (!path.isWellFormed()) throw invalid('A path contains half of a surrogate pair');
  if (path.includes('\0')) throw invalid('A path cannot contain NUL');
  if (!path.includes("['")) checkPlain(path, invalid);
  const names = namesOf(path);
  if (names === null) throw invalid(`The path '${shown}' has a name in [' that does not end in ']`, ESCAPE_HINT);
  if (names.length > QUERY_LIMITS.pathSteps) throw invalid(`The path '${shown}…' has too many steps`);
  const stored = joinPath(names);
  // Alone it would be a field of the filter object, which the driver takes for the marker of its own classes.
  if (stored === '_bsontype') throw invalid("A path cannot be '_bsontype'");
  if (names.includes('__proto__')) throw invalid("A path cannot contain '__proto__'");
  if (names.length > QUERY_LIMITS.nestedSteps && isEscapedPath(stored))
    throw invalid(`A path with a name in ['…'] has at most ${QUERY_LIMITS.nestedSteps} steps`);
  return stored;
}

const ESCAPE_HINT =
  "A name with a dot, one that starts with $ and an empty one are written as dependencies['socket.io'].";

/** Unescaped, these are more likely a mistake than a name. */
function checkPlain(path: string, invalid: (message: string, hint: string) => MillraceError): void {
  for (const step of path.split('.')) {
    if (step === '') throw invalid(`The path '${path}' has an empty step`, ESCAPE_HINT);
    if (step.startsWith('$'))
      throw invalid(
        `The path '${path}' has a step that starts with '$'`,
        `Such a name is written as ${clientPath(path)}.`,
      );
  }
}

/** The public fields of `_meta`. It also has the actor and request of the last change, which are never public. */
export const META_FIELDS: readonly string[] = ['revision', 'createdAt', 'updatedAt', 'createdBy', 'updatedBy'];

/**
 * The stored path of what a client or a policy wrote: checked, and `id` turned into `_id`. In `_meta`, only the whole
 * or one of the public fields is allowed: a query must not reveal a hidden field.
 * @throws MillraceError with the code
 */
export function clientToStoredPath(path: string, code: ErrorCode = 'invalid-filter'): string {
  const checked = parseDocumentPath(path, code);
  const [first, ...rest] = checked.split('.');
  if (first === '_meta' && rest.length > 0 && !META_FIELDS.includes(rest.join('.'))) {
    throw new MillraceError(code, `'${path.slice(0, 80)}' is not a field of _meta`, {
      hint: didYouMeanHint(rest.join('.'), META_FIELDS),
    });
  }
  return checked === 'id' || checked.startsWith('id.') ? `_${checked}` : checked;
}

/**
 * The stored path of a filter, a sort or an index. `_meta` as a whole is rejected: comparing it would compare its
 * hidden fields, too.
 * @throws MillraceError with the code
 */
export function parseQueryPath(path: string, code: ErrorCode = 'invalid-filter'): string {
  const stored = clientToStoredPath(path, code);
  if (stored !== '_meta') return stored;
  const fields = META_FIELDS.map((field) => `_meta.${field}`).join(', ');
  throw new MillraceError(code, "'_meta' as a whole cannot be used here", { hint: `Use one of ${fields}.` });
}
