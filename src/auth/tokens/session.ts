/**
 * A session: one sign-in of one account that can be revoked. Shapes only; its refresh token is kept in another place,
 * because every change here is an event. Not here: where it is kept (session-store.ts).
 */
import type { OwnMeta, Stamp } from '../../database/system-collection.ts';

export interface Session {
  readonly _id: string;
  /** Id of the account. */
  readonly user: string;
  readonly kind: 'user' | 'owner';
  /** The address it was opened from, and the client's own description. */
  readonly address: string;
  readonly agent: string | null;
  /** The identity that it was opened by; missing where a provider did not. */
  readonly identity?: string;
  readonly _meta: OwnMeta;
}

/** Why a session ended. */
export type EndReason =
  | 'logout'
  | 'revoked'
  | 'expired'
  | 'token-reused'
  | 'too-many'
  | 'provider-ended'
  | 'password-changed'
  | 'password-reset'
  | 'factor-added'
  | 'user-disabled'
  | 'user-deleted';

/** The origin of the request that signs an account in. */
export interface SessionOrigin {
  readonly address: string;
  readonly agent: string | null;
  readonly request: string;
}

/** The stamp of a change that a client makes before it is signed in. */
export function stampOf(origin: SessionOrigin, by: string | null = null): Stamp {
  return { by, request: origin.request };
}
