/**
 * Time-based one-time passwords (RFC 6238) as authenticator apps implement them: SHA-1, 30 seconds, 6 digits. Pure,
 * except for the random seed.
 */
import { Secret, TOTP } from 'otpauth';

const FORM = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** Accepted steps before and after the current one: clocks differ, and people type slowly. */
const WINDOW = 1;
/** As long as the result of SHA-1 (RFC 4226 section 4). */
const SEED_BYTES = 20;

/** A new seed, as base32. */
export function generateTotpSeed(): string {
  return new Secret({ size: SEED_BYTES }).base32;
}

/**
 * The URL that an authenticator app reads from a QR code.
 * @param issuer the displayed name of the instance
 * @param label the user
 */
export function otpauthUrl(seed: string, issuer: string, label: string): string {
  return new TOTP({ ...FORM, secret: seed, issuer, label }).toString();
}

/**
 * The step of a code; null when it is not the code of the current step or of one next to it.
 * @param now milliseconds since 1970
 */
export function matchTotpStep(seed: string, code: string, now: number): number | null {
  const secret = Secret.fromBase32(seed);
  const delta = TOTP.validate({ ...FORM, secret, token: code, timestamp: now, window: WINDOW });
  return delta === null ? null : TOTP.counter({ period: FORM.period, timestamp: now }) + delta;
}
