/**
 * The paths that an update changed. Only names are read: other programs may have stored values of any type, and a value
 * that JavaScript cannot represent must not hide the paths after it.
 */
import { rawMembers } from '../../database/bson/raw.ts';
import { readStored } from '../../database/bson/stored.ts';

/** The paths of a raw `{updatedFields, removedFields, truncatedArrays}`. */
export function updatedPaths(update: Buffer): string[] {
  const paths: string[] = [];
  for (const { name, start, end } of rawMembers(update)) {
    const part = update.subarray(start, end);
    if (name === 'updatedFields') for (const field of rawMembers(part)) paths.push(field.name);
    else if (name === 'removedFields') paths.push(...Object.values(readStored(part)).map(String));
    else if (name === 'truncatedArrays') paths.push(...Object.values(readStored(part)).map(fieldOf));
  }
  return paths;
}

function fieldOf(truncated: unknown): string {
  return truncated !== null && typeof truncated === 'object' && 'field' in truncated ? String(truncated.field) : '';
}
