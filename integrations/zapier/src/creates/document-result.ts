/** Shared by the actions on documents: the result as Zapier requires it, an object. */
import type { Bundle, HttpResponse, ZObject } from 'zapier-platform-core';
import { withFiles } from '../fields/files.ts';

export const DOCUMENT_SAMPLE = { id: 'soup', title: 'Cook soup' };

/** The written document as far as the key may read it; at least its id. */
export function written(z: ZObject, bundle: Bundle, { data }: HttpResponse, id: string | undefined) {
  const document = typeof data === 'object' && data !== null ? data : {};
  return { ...(id === undefined ? {} : { id }), ...withFiles(z, bundle, document) };
}
