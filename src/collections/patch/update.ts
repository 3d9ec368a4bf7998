/**
 * An update by operators (`application/vnd.millrace.update+json`): `{"$inc":{"n":1},"$set":{"a.b":true}}` with MongoDB's
 * meaning, as a pure function on stored values.
 */
import { MillraceError } from '../../lib/errors.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { changeAtPath, comparePathSteps, type PathChange, type PathSteps, parsePathSteps } from './dotted-path.ts';
import { invalidPatch, MAX_PATCH_OPERATIONS } from './patch-limits.ts';
import { UPDATE_OPERATORS } from './update-operators.ts';
import { WorkingCopy } from './working-copy.ts';

/** One operator at one path. */
export interface UpdateClause extends PathChange {
  readonly operator: string;
  readonly path: string;
  readonly steps: PathSteps;
}

/** The clauses in the order in which MongoDB applies them: by path. */
export type ParsedUpdate = readonly UpdateClause[];

/**
 * Parses an update.
 * @throws MillraceError `invalid-patch`, `unsupported-field-name`, with operator and path
 */
export function parseUpdate(body: unknown): ParsedUpdate {
  if (!isPlainObject(body) || Object.keys(body).length === 0) {
    throw invalidPatch(
      'An update must be an object of operators',
      `Possible: ${[...UPDATE_OPERATORS.keys()].join(', ')}`,
    );
  }
  const update = Object.entries(body).flatMap(([operator, paths]) => parseOperator(operator, paths));
  if (update.length > MAX_PATCH_OPERATIONS) throw invalidPatch(`An update has at most ${MAX_PATCH_OPERATIONS} paths`);
  return refuseConflicts(update.toSorted((a, b) => comparePathSteps(a.steps, b.steps)));
}

/**
 * Applies all clauses, or none.
 * @param now the time that `$currentDate` sets
 * @throws MillraceError `invalid-patch`, `json-too-deep`, `document-too-large`, naming operator and path
 */
export function applyUpdate(document: unknown, update: ParsedUpdate, now: Date, draft = new WorkingCopy()): unknown {
  return update.reduce((root, { operator, path, steps, apply, ...rest }) => {
    const change = { ...rest, apply: (old: unknown) => apply(old, now, draft) };
    try {
      return changeAtPath(root, steps, change, draft);
    } catch (error) {
      throw inClause(operator, path, error);
    }
  }, document);
}

function parseOperator(operator: string, paths: unknown): UpdateClause[] {
  const parse = UPDATE_OPERATORS.get(operator);
  if (parse === undefined) {
    throw invalidPatch(
      `'${operator.slice(0, 80)}' is not an operator`,
      `Possible: ${[...UPDATE_OPERATORS.keys()].join(', ')}`,
    );
  }
  if (!isPlainObject(paths)) throw invalidPatch(`The operand of ${operator} must be an object of paths and values`);
  return Object.entries(paths).map(([path, operand]) => {
    try {
      const steps = parsePathSteps(path);
      return { operator, path, steps, ...parse(operand) };
    } catch (error) {
      throw inClause(operator, path, error);
    }
  });
}

/** A path may be changed once, and not together with a part of itself: the result would depend on the order. */
function refuseConflicts(update: ParsedUpdate): ParsedUpdate {
  for (const [index, { steps, path, operator }] of update.entries()) {
    // The paths are sorted, so a path that starts with this one comes directly after it.
    const next = update[index + 1];
    if (next === undefined || !steps.every((step, depth) => next.steps[depth] === step)) continue;
    throw invalidPatch(`'${path}' (${operator}) and '${next.path}' (${next.operator}) are in conflict`);
  }
  return update;
}

/** Adds the operator and path to an error; the pointer leads into the body of the request. */
function inClause(operator: string, path: string, error: unknown): unknown {
  if (!(error instanceof MillraceError)) return error;
  const shown = path.length > 80 ? `${path.slice(0, 80)}…` : path;
  // The pointers that it names are in the document, not in the request.
  const named = error.with({ message: `${operator} of '${shown}': ${error.message}`, issues: [] });
  return named.at(`/${operator}/${path.replaceAll('~', '~0').replaceAll('/', '~1')}`);
}
