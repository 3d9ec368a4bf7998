/**
 * What a list shows of its documents: the `fields` that a client asks for, within those that its Scope shows. If the
 * same members are visible in every document, the database cuts them and the bytes are passed on unchanged; otherwise
 * each document is cut here. Pure.
 */
import { databaseDecides, hidesFields, requireShown, uniformFields } from '../../policies/reach.ts';
import type { Scope } from '../../policies/scope.ts';
import { type FieldTree, fieldTree, intersection } from '../../query/evaluate/field-tree.ts';
import { type Fields, isProjectable, treeOf } from '../../query/evaluate/fields.ts';
import { pathOf } from '../../query/paths.ts';
import { seenBytes } from './document-view.ts';
import { cutStored } from './field-selection.ts';

export interface Projection {
  /** What the database is asked to show; null is all. */
  readonly fields: Fields | null;
  /**
   * Cuts a document that was read, or gives null when it may not be seen after all. The whole function is null when
   * there is nothing left to cut.
   */
  readonly cut: ((raw: Uint8Array) => Promise<Uint8Array | null>) | null;
}

/** @throws MillraceError `field-hidden` */
export function projectionOf(scope: Scope<'read'>, asked: Fields | null): Projection {
  const isDecided = databaseDecides(scope);
  const isOfDatabase = asked === null || isProjectable(asked);
  if (isDecided && !hidesFields(scope) && isOfDatabase) return { fields: asked, cut: null };
  requireFields(scope, asked);
  // If documents are judged again in memory, all of their members are needed.
  const seen = isDecided ? uniformFields(scope) : null;
  const fields = seen === null ? undefined : within(seen, asked);
  if (fields !== undefined && (fields === null || isProjectable(fields))) return { fields, cut: null };
  return {
    fields: null,
    cut: async (raw) => {
      const bytes = await seenBytes(scope, raw, true);
      return bytes === null ? null : cutStored(bytes, asked);
    },
  };
}

/**
 * Checks that each member a client names is visible in at least some document.
 * @throws MillraceError `field-hidden`
 */
export function requireFields(scope: Scope<'read'>, asked: Fields | null): void {
  if (asked?.mode === 'include') requireShown(scope, asked.paths);
}

/** The fields within the tree, or undefined when a projection cannot say that. */
function within(seen: FieldTree, asked: Fields | null): Fields | undefined {
  const tree = asked === null ? seen : intersection([seen, treeOf(asked)]);
  const members = new Map([...tree.members].filter(([name]) => name !== '_id'));
  const paths = pathsOf(fieldTree(tree.rest, members), '');
  if (paths === undefined) return undefined;
  return { mode: tree.rest ? 'exclude' : 'include', paths };
}

/** The paths that a projection names; it shows some or leaves out some, never both. */
function pathsOf({ rest, members }: FieldTree, prefix: string): string[] | undefined {
  const paths: string[] = [];
  for (const [name, tree] of members) {
    const path = prefix + pathOf([name]);
    if (tree.members.size === 0) {
      paths.push(path);
      continue;
    }
    const inner = tree.rest === rest ? pathsOf(tree, `${path}.`) : undefined;
    if (inner === undefined) return undefined;
    paths.push(...inner);
  }
  return paths;
}
