/**
 * Signed URLs of files: every client that has one can read the bytes until it expires, because an `<img>` cannot send a
 * credential. Pure, except for the secret.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { invalidToken } from '../auth/identity/auth-errors.ts';

/** Maximum validity of a URL, in seconds. */
export const MAX_URL_LIFETIME_S = 3_600;
/** Maximum clock skew of the process that signed it, in seconds. */
const CLOCKS_S = 60;

/** The query part of a URL, which contains the signature. */
export function signedQuery(secret: KeyObject, id: string, expires: number): string {
  return `expires=${expires}&signature=${signatureOf(secret, id, expires)}`;
}

/**
 * Whether a URL carries a valid signature.
 * @param secrets of the instance, any of which may have signed it
 * @param query the text after `?`
 * @param nowS seconds since 1970
 * @throws MillraceError `invalid-token` when the signature is invalid, is for another file, has expired, or is valid for longer
 * than any that this server creates: a stolen secret cannot create one that outlives the secret
 */
export function hasValidSignature(secrets: readonly KeyObject[], id: string, query: string, nowS: number): boolean {
  const found = new URLSearchParams(query);
  const [signature, text] = [found.get('signature'), found.get('expires')];
  if (signature === null && text === null) return false;
  const expires = /^\d{1,12}$/.test(text ?? '') ? Number(text) : 0;
  const given = Buffer.from(signature ?? '');
  const isOurs = secrets.some((secret) => {
    const expected = Buffer.from(signatureOf(secret, id, expires));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isOurs || expires <= nowS || expires > nowS + MAX_URL_LIFETIME_S + CLOCKS_S) throw invalidToken();
  return true;
}

function signatureOf(secret: KeyObject, id: string, expires: number): string {
  return createHmac('sha256', secret).update(`file\n${id}\n${expires}`).digest('base64url');
}
