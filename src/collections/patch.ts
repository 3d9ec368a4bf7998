/** The three languages of a PATCH, by media type, each as a change of stored documents. Pure. */
import type { Change } from './collections.ts';
import { applyJsonPatch, parseJsonPatch } from './json-patch.ts';
import { objectBody, type RequestLike, requireBody, requireMediaType } from './requests.ts';
import { changeStored, mergeStored } from './stored.ts';
import { applyUpdate, parseUpdate } from './update.ts';

/** Plain JSON is a merge patch. */
export const PATCH_TYPES = [
  'application/merge-patch+json',
  'application/json',
  'application/json-patch+json',
  'application/vnd.millrace.update+json',
] as const;

/**
 * Reads the patch that a request carries.
 * @throws MillraceError `unsupported-media-type`, `body-type`, `invalid-patch`, `unsupported-key`
 */
export function parsePatch(request: RequestLike): Change {
  const type = requireMediaType(request, PATCH_TYPES);
  switch (type) {
    case 'application/json':
    case 'application/merge-patch+json': {
      const patch = objectBody(request);
      return (old, origin) => mergeStored(old, patch, origin);
    }
    case 'application/json-patch+json': {
      const patch = parseJsonPatch(requireBody(request));
      return (old, origin) => changeStored(old, (shown) => applyJsonPatch(shown, patch), origin);
    }
    case 'application/vnd.millrace.update+json': {
      const update = parseUpdate(objectBody(request));
      return (old, origin) => changeStored(old, (shown) => applyUpdate(shown, update, origin.now), origin);
    }
    default:
      return type satisfies never;
  }
}
