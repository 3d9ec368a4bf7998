/**
 * Signed addresses of files: any client that has one can read the bytes until it ends, because an `<img>` cannot send a
 * credential. Pure, except for the secret. Not here: the rights to make one (sign-routes.ts).
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { invalidCredential } from '../auth/identity/refusals.ts';

/** Seconds for which an address may hold. */
export const LONGEST_S = 3_600;
/** How far the clock of the process that signed it may be ahead, in seconds. */
const CLOCKS_S = 60;

/** The query part of an address, which holds the signature. */
export function signedQuery(secret: KeyObject, id: string, expires: number): string {
  return `expires=${expires}&signature=${signatureOf(secret, id, expires)}`;
}

/**
 * True if an address carries a valid signature.
 * @param secrets of the installation, any of which may have signed it
 * @param query what follows `?`
 * @param nowS seconds since 1970
 * @throws MillraceError `invalid-credential` when the signature is not ours, is for another file, has ended, or holds
 *   longer than any that we make: so a stolen secret cannot make one that outlives the secret
 */
export function isSigned(secrets: readonly KeyObject[], id: string, query: string, nowS: number): boolean {
  const found = new URLSearchParams(query);
  const [signature, text] = [found.get('signature'), found.get('expires')];
  if (signature === null && text === null) return false;
  const expires = /^\d{1,12}$/.test(text ?? '') ? Number(text) : 0;
  const given = Buffer.from(signature ?? '');
  const isOurs = secrets.some((secret) => {
    const expected = Buffer.from(signatureOf(secret, id, expires));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isOurs || expires <= nowS || expires > nowS + LONGEST_S + CLOCKS_S) throw invalidCredential();
  return true;
}

function signatureOf(secret: KeyObject, id: string, expires: number): string {
  return createHmac('sha256', secret).update(`file\n${id}\n${expires}`).digest('base64url');
}
