/**
 * Files in results. A member that holds the address of a file of this installation gets another one beside it, which Zapier turns
 * into the bytes when a later step needs them: by a signed address, which needs no key. Not here: uploads (creates/upload-file.ts).
 */
import type { Bundle, ZObject } from 'zapier-platform-core';
import { baseOf, call } from '../api/requests.ts';

/** How long a signed address is valid, in seconds: the longest that Millrace gives. */
const VALID_S = 3_600;
/** Files of one result that are looked for, at most. */
const MAX_FILES = 50;

type Members = Readonly<Record<string, unknown>>;

/** Hydrator: the signed address of a file, made when it is needed. */
export async function signedAddress(z: ZObject, bundle: Bundle): Promise<string> {
  const { data } = await call(z, ['files', String(bundle.inputData['id']), 'sign'], {
    method: 'POST',
    json: { expiresIn: VALID_S },
  });
  return data.url;
}

/** What Zapier hydrates to the bytes of a file. */
export function hydratedFile(z: ZObject, id: string): string {
  return z.dehydrateFile(signedAddress, { id });
}

/**
 * A document with a file for each address of one: `photo` gets `photo_file`, a list `photos` gets `photos_files`. A member that
 * has such a name already stays as it is.
 */
export function withFiles(z: ZObject, bundle: Pick<Bundle, 'authData'>, document: Members): Members {
  const own = `${baseOf(bundle)}/files/`;
  let left = MAX_FILES;
  const fileOf = (value: unknown): string | null => {
    if (typeof value !== 'string' || !value.startsWith(own) || left === 0) return null;
    const [, id] = /^([0-9a-f]{24})\//.exec(value.slice(own.length)) ?? [];
    if (id === undefined) return null;
    left -= 1;
    return hydratedFile(z, id);
  };
  const added = (object: Members): Members => {
    const files: Record<string, unknown> = {};
    const nested: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(object)) {
      if (Array.isArray(value)) {
        const found = value.map(fileOf).filter((file) => file !== null);
        if (found.length > 0) files[`${name}_files`] = found;
      } else if (typeof value === 'object' && value !== null) nested[name] = added(value as Members);
      else {
        const file = fileOf(value);
        if (file !== null) files[`${name}_file`] = file;
      }
    }
    return { ...files, ...object, ...nested };
  };
  return added(document);
}
