/** A file as one client may see it: its data, and its visible fields. Pure. */
import { SYSTEM_ONLY } from '../policies/fields/field-rules.ts';
import type { Scope } from '../policies/scope.ts';
import { evaluateStored, fieldsFor, hidesFields, uniformFields } from '../policies/scope-filter.ts';
import { ALL, childOf, cutTo, type FieldTree } from '../query/evaluate/field-tree.ts';
import { type FileResource, fromRaw, type StoredFile, toResource } from './upload/file.ts';

export interface VisibleFile {
  readonly file: StoredFile;
  /** Visible fields, by their stored names. */
  readonly fields: FieldTree;
}

/** @param reader the read Scope; null, or one that does not cover the document, shows its id only */
export async function toVisibleFile(reader: Scope<'read'> | null, raw: Uint8Array): Promise<VisibleFile> {
  return { file: fromRaw(raw), fields: await fieldsOf(reader, raw) };
}

async function fieldsOf(reader: Scope<'read'> | null, raw: Uint8Array): Promise<FieldTree> {
  if (reader === null) return SYSTEM_ONLY;
  if (!hidesFields(reader)) return ALL;
  return uniformFields(reader) ?? (await evaluateStored(reader, raw, fieldsFor)) ?? SYSTEM_ONLY;
}

/**
 * The resource with its visible fields: always its id, and a URL, which contains the name only if it is visible.
 * @param base scheme and authority of this server for the client
 */
export function seenResource({ file, fields }: VisibleFile, base: string): Partial<FileResource> {
  if (fields === ALL) return toResource(file, base);
  const named = childOf(fields, 'name') === ALL ? file : { ...file, name: 'file' };
  const { id, url } = toResource(named, base);
  const { id: _id, url: _url, ...properties } = toResource(file, base);
  return { id, url, ...cutTo(properties, fields) };
}
