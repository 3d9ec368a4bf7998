/**
 * A change of a document as a value: what a request wants, read and checked, before it is known which document it
 * applies to and which principal asks. Not here: reading it from a request (patch-request.ts) and applying it
 * (permitted-change.ts).
 */
import type { JsonObject, WriteOrigin } from './next-document.ts';

/** A place in a document, by its names; may hold positions of arrays. */
export type MemberPath = readonly string[];

export type DocumentChange =
  /** Only what the body says remains. */
  | { readonly kind: 'replace'; readonly body: JsonObject }
  /** A merge patch (RFC 7396). */
  | { readonly kind: 'merge'; readonly patch: JsonObject }
  /** Anything that computes the new members from the old ones, and what it names of them. */
  | {
      readonly kind: 'edit';
      /** Places that it looks at, those that it changes among them. */
      readonly reads: readonly MemberPath[];
      readonly writes: readonly MemberPath[];
      readonly apply: (shown: JsonObject, origin: WriteOrigin) => unknown;
    };
