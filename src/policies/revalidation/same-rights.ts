/** Whether two Scopes give the same rights, whichever policies grant them. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { Scope } from '../scope.ts';

/** True if two Scopes reach, show and set the same. */
export function sameRights(a: Scope | null, b: Scope | null): boolean {
  if (a === null || b === null) return a === b;
  return isDeepStrictEqual(rightsOf(a), rightsOf(b)) && sameRights(a.reader, b.reader);
}

function rightsOf({ grants, denied }: Scope): object {
  return { denied, grants: grants.map(({ filter, read, write, set }) => ({ filter, read, write, set })) };
}
