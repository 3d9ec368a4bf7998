/**
 * Passkeys as WebAuthn Level 3 describes them: the options for the browser's `navigator.credentials`, and the check of what it
 * answers. The only file that calls the library, which is loaded at the first answer. Not here: which challenges were given
 * out, and which passkeys there are (passkeys.ts).
 */
import { isIP } from 'node:net';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';

/** The site to which passkeys belong. A browser offers a passkey to this site only. */
export interface RelyingParty {
  /** Its host name. */
  readonly id: string;
  readonly origin: string;
}

/** What is kept of a passkey to check its answers. */
export interface PasskeyKey {
  /** Id of the credential, base64url. */
  readonly id: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  /** How often it was used, as the authenticator counts; always 0 if it does not count. */
  readonly counter: number;
}

export interface NewPasskey extends PasskeyKey {
  /** Whether the authenticator checked who holds it, by a PIN or a fingerprint. */
  readonly isVerified: boolean;
  /** Whether it is kept in several devices of its holder. */
  readonly isSynced: boolean;
}

export interface PasskeyUse {
  readonly counter: number;
  readonly isVerified: boolean;
}

/** Milliseconds that the browser gives its user. The challenge is good for as long. */
export const PASSKEY_MS = 5 * 60_000;
/** COSE algorithms, the preferred first: Ed25519, P-256, RSA. */
const ALGORITHMS = [-8, -7, -257];

/**
 * The site under which people reach this server. A program on this machine is reached as `localhost`, because an IP address
 * cannot have passkeys.
 * @param base the public address
 * @returns null for another IP address
 */
export function relyingPartyOf(base: string): RelyingParty | null {
  const url = new URL(base);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (host === '127.0.0.1' || host === '::1') url.hostname = 'localhost';
  else if (isIP(host) !== 0) return null;
  return { id: url.hostname, origin: url.origin };
}

/** For `PublicKeyCredential.parseCreationOptionsFromJSON`. */
export function creationOptions(
  { id }: RelyingParty,
  user: { readonly id: string; readonly name: string; readonly mustVerify: boolean },
  challenge: string,
  present: readonly string[],
) {
  return {
    challenge,
    rp: { id, name: id },
    user: { id: Buffer.from(user.id).toString('base64url'), name: user.name, displayName: user.name },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    timeout: PASSKEY_MS,
    attestation: 'none',
    excludeCredentials: present.map((credential) => ({ type: 'public-key', id: credential })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: user.mustVerify ? 'required' : 'preferred',
    },
  };
}

/** For `PublicKeyCredential.parseRequestOptionsFromJSON`. It names no passkeys, so the browser offers those that it has. */
export function requestOptions({ id }: RelyingParty, challenge: string, mustVerify: boolean) {
  const userVerification = mustVerify ? 'required' : 'preferred';
  return { challenge, rpId: id, timeout: PASSKEY_MS, allowCredentials: [], userVerification };
}

/** The challenge that an answer claims to be for; null when it cannot be read. */
export function challengeOf(clientDataJSON: string): string | null {
  try {
    const read: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString());
    return read !== null && typeof read === 'object' && 'challenge' in read && typeof read.challenge === 'string'
      ? read.challenge
      : null;
  } catch {
    return null;
  }
}

/** Checks the answer of `navigator.credentials.create`; null for one that is not right. */
export async function checkedNew(
  response: RegistrationResponseJSON,
  { id, origin }: RelyingParty,
  challenge: string,
): Promise<NewPasskey | null> {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const { registrationInfo } = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: id,
    requireUserVerification: false,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch(() => ({ registrationInfo: undefined }));
  if (registrationInfo === undefined) return null;
  const { credential, userVerified, credentialBackedUp } = registrationInfo;
  const publicKey = Buffer.from(credential.publicKey).toString('base64url');
  const { counter } = credential;
  return { id: credential.id, publicKey, counter, isVerified: userVerified, isSynced: credentialBackedUp };
}

/**
 * Checks the answer of `navigator.credentials.get`; null for one that is not right, also when its counter does not go forward,
 * because then there is a copy of the passkey.
 */
export async function checkedUse(
  response: AuthenticationResponseJSON,
  { id, origin }: RelyingParty,
  challenge: string,
  key: PasskeyKey,
): Promise<PasskeyUse | null> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const result = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: id,
    credential: { id: key.id, publicKey: Buffer.from(key.publicKey, 'base64url'), counter: key.counter },
    requireUserVerification: false,
  }).catch(() => null);
  if (result === null || !result.verified) return null;
  const { newCounter, userVerified } = result.authenticationInfo;
  return { counter: newCounter, isVerified: userVerified };
}

export type { AuthenticationResponseJSON, RegistrationResponseJSON };
