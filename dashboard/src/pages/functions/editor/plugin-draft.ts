/** A plugin with unsaved changes in the editor. Pure. */
import type { Files, WholePlugin } from '../parts/responses.ts';

/** The name by which the editor shows the manifest. */
export const MANIFEST = 'plugin.json';

export interface Draft {
  /** JSON text. */
  readonly manifest: string;
  readonly files: Files;
  /** The version that it is based on. */
  readonly base: string;
}

export function draftOf({ manifest, files, version }: WholePlugin): Draft {
  return { manifest: JSON.stringify(manifest, null, 2), files, base: version };
}

/**
 * The parts that a route accepts.
 * @throws SyntaxError the manifest is not JSON
 */
export function bodyOf({ manifest, files }: Draft): { readonly manifest: unknown; readonly files: Files } {
  return { manifest: JSON.parse(manifest) as unknown, files };
}

export function textOf(draft: Draft, file: string): string {
  return file === MANIFEST ? draft.manifest : (draft.files[file] ?? '');
}

export function withText(draft: Draft, file: string, text: string): Draft {
  return file === MANIFEST ? { ...draft, manifest: text } : { ...draft, files: { ...draft.files, [file]: text } };
}

export function withoutFile(draft: Draft, file: string): Draft {
  return { ...draft, files: Object.fromEntries(Object.entries(draft.files).filter(([name]) => name !== file)) };
}
