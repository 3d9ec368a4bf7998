/**
 * The fields of listed documents: the `fields` that a client requests, within those of its Scope. If the same fields
 * are visible in every document, the database cuts them and the bytes are passed on unchanged; otherwise each document
 * is cut here. Pure.
 */

import type { Scope } from '../../policies/scope.ts';
import {
  hidesFields,
  isDatabaseFilterExact,
  requireSelectableFields,
  uniformVisibleFields,
} from '../../policies/scope-filter.ts';
import { type FieldSelection, isProjectable, toFieldTree } from '../../query/evaluate/field-selection.ts';
import { createFieldTree, type FieldTree, intersectFieldTrees } from '../../query/evaluate/field-tree.ts';
import { joinPath } from '../../query/field-paths.ts';
import { visibleDocumentBson } from './document-view.ts';
import { selectStoredFields } from './field-selection.ts';

export interface Projection {
  /** The projection of the database query; null is all fields. */
  readonly fields: FieldSelection | null;
  /**
   * Cuts a document, or returns null when it is not visible after all. The function itself is null when nothing is left
   * to cut.
   */
  readonly cut: ((raw: Uint8Array) => Promise<Uint8Array | null>) | null;
}

/** @throws MillraceError `field-hidden` */
export function createProjection(scope: Scope<'read'>, requested: FieldSelection | null): Projection {
  const isDecided = isDatabaseFilterExact(scope);
  const isOfDatabase = requested === null || isProjectable(requested);
  if (isDecided && !hidesFields(scope) && isOfDatabase) return { fields: requested, cut: null };
  requireVisibleFields(scope, requested);
  // If documents are checked again in memory, all of their fields are needed.
  const seen = isDecided ? uniformVisibleFields(scope) : null;
  const fields = seen === null ? undefined : within(seen, requested);
  if (fields !== undefined && (fields === null || isProjectable(fields))) return { fields, cut: null };
  return {
    fields: null,
    cut: async (raw) => {
      const bytes = await visibleDocumentBson(scope, raw, true);
      return bytes === null ? null : selectStoredFields(bytes, requested);
    },
  };
}

/**
 * Checks that each field a client names is visible in at least some document.
 * @throws MillraceError `field-hidden`
 */
export function requireVisibleFields(scope: Scope<'read'>, requested: FieldSelection | null): void {
  if (requested?.mode === 'include') requireSelectableFields(scope, requested.paths);
}

/** The fields within the tree, or undefined when a projection cannot express that. */
function within(seen: FieldTree, requested: FieldSelection | null): FieldSelection | undefined {
  const tree = requested === null ? seen : intersectFieldTrees([seen, toFieldTree(requested)]);
  const fields = new Map([...tree.fields].filter(([name]) => name !== '_id'));
  const paths = pathsOf(createFieldTree(tree.rest, fields), '');
  if (paths === undefined) return undefined;
  return { mode: tree.rest ? 'exclude' : 'include', paths };
}

/** The paths in a projection; it either includes or excludes paths, never both. */
function pathsOf({ rest, fields }: FieldTree, prefix: string): string[] | undefined {
  const paths: string[] = [];
  for (const [name, tree] of fields) {
    const path = prefix + joinPath([name]);
    if (tree.fields.size === 0) {
      paths.push(path);
      continue;
    }
    const inner = tree.rest === rest ? pathsOf(tree, `${path}.`) : undefined;
    if (inner === undefined) return undefined;
    paths.push(...inner);
  }
  return paths;
}
