/**
 * The paths that an update changed. Only names are decoded: other programs may have stored values of any type, and a
 * value that JavaScript cannot represent must not hide later paths.
 */
import { rawFields } from '../../database/bson/raw-bson.ts';
import { decodeDocument } from '../../database/bson/stored-document.ts';

/** The paths of a raw `{updatedFields, removedFields, truncatedArrays}`. */
export function updatedPaths(update: Buffer): string[] {
  const paths: string[] = [];
  for (const { name, start, end } of rawFields(update)) {
    const part = update.subarray(start, end);
    if (name === 'updatedFields') for (const field of rawFields(part)) paths.push(field.name);
    else if (name === 'removedFields') paths.push(...Object.values(decodeDocument(part)).map(String));
    else if (name === 'truncatedArrays') paths.push(...Object.values(decodeDocument(part)).map(fieldOf));
  }
  return paths;
}

function fieldOf(truncated: unknown): string {
  return truncated !== null && typeof truncated === 'object' && 'field' in truncated ? String(truncated.field) : '';
}
