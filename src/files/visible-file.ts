/**
 * A file as one reader may see it: its data, and which members of them are shown. Pure. Not here: the Scope (policies/)
 * and how a resource is written (file.ts).
 */
import { SYSTEM_ONLY } from '../policies/fields/field-rules.ts';
import { askStored, fieldsFor, hidesFields, uniformFields } from '../policies/reach.ts';
import type { Scope } from '../policies/scope.ts';
import { ALL, childOf, cutTo, type FieldTree } from '../query/evaluate/field-tree.ts';
import { type FileResource, fromRaw, type StoredFile, toResource } from './upload/file.ts';

export interface VisibleFile {
  readonly file: StoredFile;
  /** Members that are shown, by their stored names. */
  readonly fields: FieldTree;
}

/** @param reader the Scope of reading; null, or one that does not reach the document, shows its id alone */
export async function toVisibleFile(reader: Scope<'read'> | null, raw: Uint8Array): Promise<VisibleFile> {
  return { file: fromRaw(raw), fields: await fieldsOf(reader, raw) };
}

async function fieldsOf(reader: Scope<'read'> | null, raw: Uint8Array): Promise<FieldTree> {
  if (reader === null) return SYSTEM_ONLY;
  if (!hidesFields(reader)) return ALL;
  return uniformFields(reader) ?? (await askStored(reader, raw, fieldsFor)) ?? SYSTEM_ONLY;
}

/**
 * The resource with what is shown: always its id, and a URL, in which the name stands only if it may be seen.
 * @param base scheme and authority under which the client reaches this server
 */
export function seenResource({ file, fields }: VisibleFile, base: string): Partial<FileResource> {
  if (fields === ALL) return toResource(file, base);
  const named = childOf(fields, 'name') === ALL ? file : { ...file, name: 'file' };
  const { id, url } = toResource(named, base);
  const { id: _id, url: _url, ...members } = toResource(file, base);
  return { id, url, ...cutTo(members, fields) };
}
