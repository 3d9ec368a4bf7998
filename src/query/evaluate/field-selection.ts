/**
 * Which fields of a document a response contains (`fields=a,b.c` or `fields=-body`): as a projection for the database,
 * and as a tree that cuts a document in memory (field-tree.ts). It does not cover policies.
 */
import { MillraceError } from '../../lib/errors.ts';
import { clientToStoredPath, isArrayPosition, isEscapedPath, splitPath } from '../field-paths.ts';
import { QUERY_LIMITS } from '../limits.ts';
import { childFieldTree, createFieldTree, EMPTY_FIELD_TREE, type FieldTree, FULL_FIELD_TREE } from './field-tree.ts';

/**
 * Paths that are included, or all but some. No path is below another one. The `_id` is always included, and never among
 * them.
 */
export interface FieldSelection {
  readonly mode: 'include' | 'exclude';
  readonly paths: readonly string[];
}

/**
 * Parses the names of `fields`; `-` leaves a field out. The id is always included: without it a client could not
 * request the document again, and a live query could not distinguish documents.
 * @throws MillraceError `invalid-parameter` when some are included and others left out, other than the id
 */
export function parseFields(names: readonly string[]): FieldSelection {
  if (names.length > QUERY_LIMITS.fields) throw invalid(`There are more than ${QUERY_LIMITS.fields} fields`);
  if (/^\s*(?:[[{]\s*)+"/.test(names[0] ?? '')) throw invalid('Fields are a list with commas, not JSON');
  const read = names.map((name) => ({
    out: name.startsWith('-'),
    path: clientToStoredPath(name.replace(/^-/, ''), 'invalid-parameter'),
  }));
  const others = read.filter(({ path }) => path !== '_id' && !path.startsWith('_id.'));
  const out = (others.length > 0 ? others : read).some((one) => one.out);
  if (others.some((one) => one.out !== out)) throw invalid('Fields are either included or left out, not both');
  return { mode: out ? 'exclude' : 'include', paths: topmost(others.map(({ path }) => path)) };
}

/** The paths without those that are below another one: the server rejects such pairs. */
function topmost(paths: readonly string[]): string[] {
  const all = new Set(paths);
  return [...all].filter((path) => !parentsOf(path).some((parent) => all.has(parent)));
}

function parentsOf(path: string): string[] {
  const steps = path.split('.');
  return steps.slice(1).map((_, index) => steps.slice(0, index + 1).join('.'));
}

/** True if the database can return these fields; if not, documents are read whole and cut by the tree. */
export function isProjectable({ paths }: FieldSelection): boolean {
  return !paths.some(isEscapedPath);
}

/** The projection for `find`. */
export function toMongoProjection({ mode, paths }: FieldSelection): Map<string, 0 | 1> {
  const projection = new Map<string, 0 | 1>(paths.map((path) => [path, mode === 'include' ? 1 : 0]));
  if (mode === 'include' && paths.length === 0) projection.set('_id', 1);
  return projection;
}

/**
 * True if each of the paths is completely included in the fields. A page whose sort is not covered is read without
 * projection, and cut by its tree after its cursor is computed.
 */
export function coversAllPaths({ mode, paths }: FieldSelection, needed: readonly string[]): boolean {
  return needed.every((path) => {
    if (path === '_id') return true;
    if (mode === 'include') return [path, ...parentsOf(path)].some((shown) => paths.includes(shown));
    return !paths.some((out) => out === path || path.startsWith(`${out}.`) || out.startsWith(`${path}.`));
  });
}

/**
 * The fields, with the needed paths added, for a caller that cuts to the fields later; the same object when nothing is
 * missing. A projection cannot name a position in an array, so such an array is returned whole.
 */
export function addRequiredFields(fields: FieldSelection, needed: readonly string[]): FieldSelection {
  const paths = needed.map(withoutPositions);
  if (coversAllPaths(fields, paths)) return fields;
  const others = paths.filter((path) => path !== '_id');
  if (fields.mode === 'include') return { ...fields, paths: topmost([...fields.paths, ...others]) };
  return { ...fields, paths: fields.paths.filter((out) => coversAllPaths({ ...fields, paths: [out] }, others)) };
}

function withoutPositions(path: string): string {
  const steps = path.split('.');
  const index = steps.findIndex((step, index) => index > 0 && isArrayPosition(step));
  return index < 0 ? path : steps.slice(0, index).join('.');
}

const trees = new WeakMap<FieldSelection, FieldTree>();

/** The fields as a tree, with the id; the same one for the same fields. */
export function toFieldTree(fields: FieldSelection): FieldTree {
  const known = trees.get(fields);
  if (known !== undefined) return known;
  const isIncluded = fields.mode === 'include';
  const { rest, fields: properties } = levelOf(fields.paths.map(splitPath), isIncluded);
  const tree = createFieldTree(rest, new Map([...properties, ['_id', FULL_FIELD_TREE]]));
  trees.set(fields, tree);
  return tree;
}

/** @param paths below this level; none of them is below another one */
function levelOf(paths: readonly (readonly string[])[], isIncluded: boolean): FieldTree {
  const fields = Map.groupBy(paths, ([name = '']) => name);
  const treeBelow = (found: readonly (readonly string[])[]): FieldTree => {
    const below = found.map(([, ...steps]) => steps);
    if (below.some((steps) => steps.length === 0)) return isIncluded ? FULL_FIELD_TREE : EMPTY_FIELD_TREE;
    return levelOf(below, isIncluded);
  };
  return createFieldTree(!isIncluded, new Map([...fields].map(([name, found]) => [name, treeBelow(found)])));
}

/** Whether a response with these fields contains `_meta`. */
export function includesMeta(fields: FieldSelection | null): boolean {
  return fields === null || childFieldTree(toFieldTree(fields), '_meta').rest;
}

function invalid(message: string): MillraceError {
  return new MillraceError('invalid-parameter', message, { hint: 'Write fields=title,author.name or fields=-body.' });
}
