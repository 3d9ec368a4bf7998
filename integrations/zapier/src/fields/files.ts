/**
 * Files in results. A field that holds the URL of a file of this instance gets another one beside it, which Zapier turns
 * into the bytes when a later step needs them: by a signed URL, which needs no key.
 */
import type { Bundle, ZObject } from 'zapier-platform-core';
import { baseOf, call } from '../api/requests.ts';

/** How long a signed URL is valid, in seconds: the longest that Millrace gives. */
const VALID_S = 3_600;
/** Maximum number of files that are searched for in one result. */
const MAX_FILES = 50;

type Fields = Readonly<Record<string, unknown>>;

/** Hydrator: the signed URL of a file, made when it is needed. */
export async function signedUrl(z: ZObject, bundle: Bundle): Promise<string> {
  const { data } = await call(z, ['files', String(bundle.inputData['id']), 'sign'], {
    method: 'POST',
    json: { expiresIn: VALID_S },
  });
  return data.url;
}

/** The value that Zapier hydrates to the bytes of a file. */
export function hydratedFile(z: ZObject, id: string): string {
  return z.dehydrateFile(signedUrl, { id });
}

/**
 * A document with a file for each URL of one: `photo` gets `photo_file`, a list `photos` gets `photos_files`. An existing field
 * of such a name is unchanged.
 */
export function withFiles(z: ZObject, bundle: Pick<Bundle, 'authData'>, document: Fields): Fields {
  const own = `${baseOf(bundle)}/files/`;
  let left = MAX_FILES;
  const fileOf = (value: unknown): string | null => {
    if (typeof value !== 'string' || !value.startsWith(own) || left === 0) return null;
    const [, id] = /^([0-9a-f]{24})\//.exec(value.slice(own.length)) ?? [];
    if (id === undefined) return null;
    left -= 1;
    return hydratedFile(z, id);
  };
  const added = (object: Fields): Fields => {
    const files: Record<string, unknown> = {};
    const nested: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(object)) {
      if (Array.isArray(value)) {
        const found = value.map(fileOf).filter((file) => file !== null);
        if (found.length > 0) files[`${name}_files`] = found;
      } else if (typeof value === 'object' && value !== null) nested[name] = added(value as Fields);
      else {
        const file = fileOf(value);
        if (file !== null) files[`${name}_file`] = file;
      }
    }
    return { ...files, ...object, ...nested };
  };
  return added(document);
}
