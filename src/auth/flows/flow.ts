/**
 * A sign-in that is under way at a provider: what was decided when it began and is needed when it ends, in whichever
 * process that is. It is kept under its `state` (RFC 6749 section 10.12), which works once, and is bound to one browser by
 * a cookie. Pure. Not here: storing it (sign-in/single-use.ts), and its two steps (provider-sign-in.ts).
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { Check } from 'typebox/schema';

const FLOW = Type.Object({
  provider: Type.String(),
  /** Version of the provider when the flow began. It ends at the same one only. */
  version: Type.String(),
  /** Where it ends: an address that was on the list when it began. */
  redirect: Type.String(),
  /** What the client wants to get back with the answer. */
  clientState: Type.Union([Type.String(), Type.Null()]),
  /** Hash of the verifier that the client keeps (RFC 7636). */
  challenge: Type.String(),
  /** The redirect address that the provider was told. */
  callback: Type.String(),
  /** Hash of the secret in the cookie of the browser that began it. */
  browser: Type.String(),
  /** The account that the identity will be joined to; null for a sign-in. */
  joins: Type.Union([Type.String(), Type.Null()]),
});

export type Flow = Static<typeof FLOW>;

/** What ties the answer of a provider to one flow. */
export interface FlowProofs {
  /** Our own verifier, for the provider (RFC 7636). */
  readonly verifier: string;
  readonly nonce: string;
}

/**
 * Made of the secret in the cookie of a flow, and so stored nowhere: a copy of the database is of no use for a flow that is
 * under way.
 */
export function proofsOf(secret: string): FlowProofs {
  const made = (what: string) => createHmac('sha256', secret).update(what).digest('base64url');
  return { verifier: made('verifier'), nonce: made('nonce') };
}

/** What a one-time code stands for. */
const OUTCOME = Type.Object({
  provider: Type.String(),
  /** Id of the identity that was proved. */
  identity: Type.String(),
  challenge: Type.String(),
  /** The tokens of the provider, sealed; only where it says that they are kept. */
  tokens: Type.Optional(Type.String()),
});

export type Outcome = Static<typeof OUTCOME>;

/** @returns null for facts of an older version of Millrace */
export function readFlow(facts: unknown): Flow | null {
  return Check(FLOW, facts) ? facts : null;
}

/** @returns null for facts of an older version of Millrace */
export function readOutcome(facts: unknown): Outcome | null {
  return Check(OUTCOME, facts) ? facts : null;
}

/** A challenge of a client: the SHA-256 of its verifier, base64url (RFC 7636 section 4.2). */
export const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

export function isVerifierOf(challenge: string, verifier: string): boolean {
  return VERIFIER.test(verifier) && isHashOf(challenge, verifier);
}

/** Compares in the same time whatever is different. */
export function isHashOf(hashed: string, secret: string): boolean {
  const [found, wanted] = [Buffer.from(hashOf(secret)), Buffer.from(hashed)];
  return found.length === wanted.length && timingSafeEqual(found, wanted);
}

export function hashOf(secret: string): string {
  return hash('sha256', secret, 'base64url');
}
