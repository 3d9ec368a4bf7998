/**
 * Passkeys by WebAuthn Level 3: the options for the browser's `navigator.credentials`, and the verification of its
 * responses. The only file that calls the library, which is loaded at the first response.
 */
import { isIP } from 'node:net';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';

/** The site to which passkeys belong. A browser offers a passkey to this site only. */
export interface RelyingParty {
  /** Its host name. */
  readonly id: string;
  readonly origin: string;
}

/** The stored data of a passkey. */
export interface PasskeyPublicKey {
  /** Id of the credential, base64url. */
  readonly id: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  /** The signature counter of the authenticator; always 0 if it does not count. */
  readonly counter: number;
}

export interface PasskeyRegistration extends PasskeyPublicKey {
  /** Whether the authenticator verified the user with a PIN or a fingerprint. */
  readonly isVerified: boolean;
  /** Whether several devices of its holder store it. */
  readonly isSynced: boolean;
}

export interface PasskeyAssertionResult {
  readonly counter: number;
  readonly isVerified: boolean;
}

/** Timeout of the browser's dialog, in milliseconds. The challenge is valid for as long. */
export const PASSKEY_TIMEOUT_MS = 5 * 60_000;
/** COSE algorithms, the preferred first: Ed25519, P-256, RSA. */
const ALGORITHMS = [-8, -7, -257];

/**
 * The site of this server's URL. A program on this machine is reached as `localhost`, because an IP address cannot have
 * passkeys.
 * @param base the public URL
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
export function passkeyCreationOptions(
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
    timeout: PASSKEY_TIMEOUT_MS,
    attestation: 'none',
    excludeCredentials: present.map((credential) => ({ type: 'public-key', id: credential })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: user.mustVerify ? 'required' : 'preferred',
    },
  };
}

/**
 * For `PublicKeyCredential.parseRequestOptionsFromJSON`. It lists no passkeys, so the browser offers those that it has.
 */
export function passkeyRequestOptions({ id }: RelyingParty, challenge: string, mustVerify: boolean) {
  const userVerification = mustVerify ? 'required' : 'preferred';
  return { challenge, rpId: id, timeout: PASSKEY_TIMEOUT_MS, allowCredentials: [], userVerification };
}

/** The challenge in a response; null when it cannot be read. */
export function readPasskeyChallenge(clientDataJSON: string): string | null {
  try {
    const read: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString());
    return read !== null && typeof read === 'object' && 'challenge' in read && typeof read.challenge === 'string'
      ? read.challenge
      : null;
  } catch {
    return null;
  }
}

/** Verifies the response of `navigator.credentials.create`; null if it is not valid. */
export async function verifyPasskeyRegistration(
  response: RegistrationResponseJSON,
  { id, origin }: RelyingParty,
  challenge: string,
): Promise<PasskeyRegistration | null> {
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
 * Verifies the response of `navigator.credentials.get`; null if it is not valid, or if its counter does not increase,
 * because then a copy of the passkey exists.
 */
export async function verifyPasskeyAssertion(
  response: AuthenticationResponseJSON,
  { id, origin }: RelyingParty,
  challenge: string,
  key: PasskeyPublicKey,
): Promise<PasskeyAssertionResult | null> {
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
