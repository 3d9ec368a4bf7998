/** A change of a document as a value: parsed and checked before the document or the principal is known. */
import type { JsonObject, WriteAttribution } from './build-document.ts';

/** Path of a value in a document, as its names; may include array positions. */
export type FieldPath = readonly string[];

export type RequestedChange =
  /** A replacement: only what the body contains remains. */
  | { readonly kind: 'replace'; readonly body: JsonObject }
  /** A merge patch (RFC 7396). */
  | { readonly kind: 'merge'; readonly patch: JsonObject }
  /** Any function that computes the new fields from the old ones, with the paths that it uses. */
  | {
      readonly kind: 'edit';
      /** Paths that it reads, including those that it changes. */
      readonly reads: readonly FieldPath[];
      readonly writes: readonly FieldPath[];
      readonly apply: (shown: JsonObject, origin: WriteAttribution) => unknown;
    };
