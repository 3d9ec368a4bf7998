/** A file as one client may see it: its data, and its visible fields. Pure. */
import { SYSTEM_FIELDS_ONLY } from '../policies/fields/field-rules.ts';
import type { Scope } from '../policies/scope.ts';
import {
  evaluateStoredDocument,
  hidesFields,
  uniformVisibleFields,
  visibleFieldTree,
} from '../policies/scope-filter.ts';
import { childFieldTree, type FieldTree, FULL_FIELD_TREE, selectFields } from '../query/evaluate/field-tree.ts';
import { decodeStoredFile, type FileResource, type StoredFile, toFileResource } from './upload/file.ts';

export interface VisibleFile {
  readonly file: StoredFile;
  /** Visible fields, by their stored names. */
  readonly fields: FieldTree;
}

/** @param reader the read Scope; null, or one that does not cover the document, shows its id only */
export async function toVisibleFile(reader: Scope<'read'> | null, raw: Uint8Array): Promise<VisibleFile> {
  return { file: decodeStoredFile(raw), fields: await fieldsOf(reader, raw) };
}

async function fieldsOf(reader: Scope<'read'> | null, raw: Uint8Array): Promise<FieldTree> {
  if (reader === null) return SYSTEM_FIELDS_ONLY;
  if (!hidesFields(reader)) return FULL_FIELD_TREE;
  return (
    uniformVisibleFields(reader) ?? (await evaluateStoredDocument(reader, raw, visibleFieldTree)) ?? SYSTEM_FIELDS_ONLY
  );
}

/**
 * The resource with its visible fields: always its id, and a URL, which contains the name only if it is visible.
 * @param base scheme and authority of this server for the client
 */
export function toVisibleResource({ file, fields }: VisibleFile, base: string): Partial<FileResource> {
  if (fields === FULL_FIELD_TREE) return toFileResource(file, base);
  const named = childFieldTree(fields, 'name') === FULL_FIELD_TREE ? file : { ...file, name: 'file' };
  const { id, url } = toFileResource(named, base);
  const { id: _id, url: _url, ...properties } = toFileResource(file, base);
  return { id, url, ...selectFields(properties, fields) };
}
