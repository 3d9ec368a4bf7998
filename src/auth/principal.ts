/**
 * Who is asking. Anonymous is a principal too, never `null`. Not here: how a request proves it (http/authentication).
 */

/** The one who asks: nobody in particular, an account, an API key, or who runs this installation. */
export type Principal =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'user' | 'key' | 'owner'; readonly id: string; readonly roles: readonly string[] };

export const ANONYMOUS: Principal = Object.freeze({ kind: 'anonymous' });

/** The principal as stored beside what it changed: `user:u1`, or null for anonymous. */
export function actorOf(principal: Principal): string | null {
  return principal.kind === 'anonymous' ? null : `${principal.kind}:${principal.id}`;
}
