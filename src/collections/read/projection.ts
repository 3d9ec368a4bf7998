/**
 * The fields of listed documents: the `fields` that a client requests, within those of its Scope. If the same fields
 * are visible in every document, the database cuts them, or the encoder omits the hidden ones; otherwise each document
 * is cut here. Pure.
 */
import { mapCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import type { Scope } from '../../policies/scope.ts';
import {
  hidesFields,
  isDatabaseFilterExact,
  requireSelectableFields,
  uniformVisibleFields,
} from '../../policies/scope-filter.ts';
import { type FieldSelection, isProjectable, toFieldTree } from '../../query/evaluate/field-selection.ts';
import {
  createFieldTree,
  type FieldTree,
  FULL_FIELD_TREE,
  intersectFieldTrees,
} from '../../query/evaluate/field-tree.ts';
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
  /** The visible fields of the documents as they are read: the encoder must omit all others. */
  readonly visible: FieldTree;
}

/**
 * @param isEncoded true if the reader of the documents encodes them with the visible fields alone
 * @throws MillraceError `field-hidden`
 */
export function createProjection(
  scope: Scope<'read'>,
  requested: FieldSelection | null,
  isEncoded: boolean,
): Projection {
  const isDecided = isDatabaseFilterExact(scope);
  const isOfDatabase = requested === null || isProjectable(requested);
  if (isDecided && !hidesFields(scope) && isOfDatabase)
    return { fields: requested, cut: null, visible: FULL_FIELD_TREE };
  requireVisibleFields(scope, requested);
  // If documents are checked again in memory, all of their fields are needed.
  const seen = isDecided ? uniformVisibleFields(scope) : null;
  // A list of hidden fields usually leaves most of a document. Omitting them while the bytes are read once costs less
  // than a projection of the database.
  if (isEncoded && requested === null && seen?.rest === true) return { fields: null, cut: null, visible: seen };
  const fields = seen === null ? undefined : within(seen, requested);
  if (fields !== undefined && (fields === null || isProjectable(fields)))
    return { fields, cut: null, visible: FULL_FIELD_TREE };
  return {
    fields: null,
    cut: async (raw) => {
      const bytes = await visibleDocumentBson(scope, raw, true);
      return bytes === null ? null : selectStoredFields(bytes, requested);
    },
    visible: FULL_FIELD_TREE,
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

type Cut = NonNullable<Projection['cut']>;

/** The visible parts of the documents of each batch. */
export async function* cutBatches(
  batches: AsyncIterable<readonly Uint8Array[]>,
  cut: Cut,
): AsyncGenerator<readonly Uint8Array[]> {
  for await (const batch of batches) yield await cutDocuments(batch, cut);
}

/** The visible parts of documents, without those that are not visible after all. */
export async function cutDocuments(documents: readonly Uint8Array[], cut: Cut): Promise<readonly Uint8Array[]> {
  return (await mapCooperatively(documents, cut)).filter((raw) => raw !== null);
}
