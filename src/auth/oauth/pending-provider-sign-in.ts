/**
 * A sign-in in progress at a provider: the data from its start that is needed at its end, in any process. It is stored
 * under its `state` (RFC 6749 section 10.12), which works once, and is bound to one browser by a cookie. Pure.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { Check } from 'typebox/schema';
import { MillraceError } from '../../lib/errors.ts';

/** The client's request for a sign-in. */
export interface ProviderSignInRequest {
  readonly redirect: string | null;
  readonly challenge: string | null;
  readonly method: string | null;
  /** The client's state, returned with the response. */
  readonly state: string | null;
  /** A ticket of `ProviderSignIn.beginLink`; null for a sign-in. */
  readonly linkTicket: string | null;
}

const FLOW = Type.Object({
  provider: Type.String(),
  /** Version of the provider when the sign-in started. It ends only at the same one. */
  version: Type.String(),
  /** Where it ends: a URL that was on the list when it started. */
  redirect: Type.String(),
  /** The client's state, returned with the response. */
  clientState: Type.Union([Type.String(), Type.Null()]),
  /** Hash of the verifier that the client stores (RFC 7636). */
  challenge: Type.String(),
  /** The redirect URL that the provider received. */
  callback: Type.String(),
  /** Hash of the secret in the cookie of the browser that started it. */
  browser: Type.String(),
  /** The user that the identity will be linked to; null for a sign-in. */
  joins: Type.Union([Type.String(), Type.Null()]),
});

export type AuthorizationRequest = Static<typeof FLOW>;

/** What binds the response of a provider to one sign-in. */
export interface AuthorizationSecrets {
  /** Our own verifier, for the provider (RFC 7636). */
  readonly verifier: string;
  readonly nonce: string;
}

/**
 * Derived from the secret in the cookie of a sign-in, and stored nowhere: a copy of the database is of no use for a
 * sign-in in progress.
 */
export function deriveAuthorizationSecrets(secret: string): AuthorizationSecrets {
  const created = (what: string) => createHmac('sha256', secret).update(what).digest('base64url');
  return { verifier: created('verifier'), nonce: created('nonce') };
}

/** The data of a one-time code. */
const OUTCOME = Type.Object({
  provider: Type.String(),
  /** Id of the verified identity. */
  identity: Type.String(),
  challenge: Type.String(),
  /** The encrypted tokens of the provider; only if it is set to store them. */
  tokens: Type.Optional(Type.String()),
});

export type AuthorizationCodeData = Static<typeof OUTCOME>;

/** @returns null for data of an older version of Millrace */
export function parseStoredAuthorizationRequest(facts: unknown): AuthorizationRequest | null {
  return Check(FLOW, facts) ? facts : null;
}

/** @returns null for data of an older version of Millrace */
export function parseAuthorizationCodeData(facts: unknown): AuthorizationCodeData | null {
  return Check(OUTCOME, facts) ? facts : null;
}

/** A challenge of a client: the SHA-256 of its verifier, base64url (RFC 7636 section 4.2). */
const PKCE_CHALLENGE_PATTERN = /^[A-Za-z0-9_-]{43}$/;
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

export function matchesPkceChallenge(challenge: string, verifier: string): boolean {
  return VERIFIER.test(verifier) && matchesSha256(challenge, verifier);
}

/** Compares in constant time. */
export function matchesSha256(hashed: string, secret: string): boolean {
  const [found, requested] = [Buffer.from(sha256Base64url(secret)), Buffer.from(hashed)];
  return found.length === requested.length && timingSafeEqual(found, requested);
}

export function sha256Base64url(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** @throws MillraceError `invalid-parameter` */
export function requirePkceChallenge({ challenge, method }: ProviderSignInRequest): string {
  if (method !== 'S256') throw invalidParameter("'code_challenge_method' must be S256");
  if (challenge !== null && PKCE_CHALLENGE_PATTERN.test(challenge)) return challenge;
  throw invalidParameter("'code_challenge' must be the SHA-256 of the verifier, in base64url (RFC 7636)");
}

export function invalidParameter(message: string): MillraceError {
  return new MillraceError('invalid-parameter', `The parameter ${message}`);
}
