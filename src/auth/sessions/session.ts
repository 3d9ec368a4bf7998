/**
 * A session: one sign-in of one user that can be revoked. Types only; its refresh token is stored separately, because
 * every change here is an event.
 */
import type { ChangeStamp, SystemDocumentMeta } from '../../database/system-collection.ts';

export interface Session {
  readonly _id: string;
  /** Id of the user. */
  readonly user: string;
  readonly kind: 'user' | 'admin';
  /** The IP address that it was opened from, and the client's own description. */
  readonly ip: string;
  readonly userAgent: string | null;
  /** The identity that it was opened by; missing where a provider did not. */
  readonly identity?: string;
  readonly _meta: SystemDocumentMeta;
}

/** Why a session ended. */
export type SessionEndReason =
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

/** The origin of the request that signs a user in. */
export interface SessionOrigin {
  readonly ip: string;
  readonly userAgent: string | null;
  readonly request: string;
}

/** The stamp of a change that a client makes before it is signed in. */
export function changeStampFromOrigin(origin: SessionOrigin, by: string | null = null): ChangeStamp {
  return { by, request: origin.request };
}
