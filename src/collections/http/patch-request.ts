/** The three patch formats, by media type, each parsed into a change of stored documents. Pure. */
import { type RequestLike, requireBody, requireMediaType } from '../../lib/request.ts';
import { applyJsonPatch, type JsonPatch, parseJsonPatch } from '../patch/json-patch.ts';
import { PATCH_MEDIA_TYPES } from '../patch/patch-bodies.ts';
import { applyUpdate, parseUpdate } from '../patch/update.ts';
import type { FieldPath, RequestedChange } from '../write/requested-change.ts';
import { parseObjectBody } from './request-body.ts';

/**
 * Reads the patch that a request carries.
 * @throws MillraceError `unsupported-media-type`, `invalid-body-type`, `invalid-patch`, `unsupported-field-name`
 */
export function parsePatch(request: RequestLike): RequestedChange {
  const type = requireMediaType(request, PATCH_MEDIA_TYPES);
  switch (type) {
    case 'application/json':
    case 'application/merge-patch+json':
      return { kind: 'merge', patch: parseObjectBody(request) };
    case 'application/json-patch+json': {
      const patch = parseJsonPatch(requireBody(request));
      return { kind: 'edit', ...namesOf(patch), apply: (shown) => applyJsonPatch(shown, patch) };
    }
    case 'application/vnd.millrace.update+json': {
      const update = parseUpdate(parseObjectBody(request));
      const names = update.map(({ steps }) => steps);
      return { kind: 'edit', reads: names, writes: names, apply: (shown, { now }) => applyUpdate(shown, update, now) };
    }
    default:
      return type satisfies never;
  }
}

function namesOf(patch: JsonPatch): { readonly reads: readonly FieldPath[]; readonly writes: readonly FieldPath[] } {
  return {
    reads: patch.flatMap((operation) => ('from' in operation ? [operation.from, operation.path] : [operation.path])),
    writes: patch.flatMap((operation) => {
      if (operation.op === 'test') return [];
      return operation.op === 'move' ? [operation.from, operation.path] : [operation.path];
    }),
  };
}
