/**
 * Signed addresses of files: whoever has one reads the bytes until it ends, because an `<img>` cannot send a
 * credential. Pure but for the secret. Not here: who may have one made (sign-routes.ts).
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { invalidCredential } from '../auth/authenticator.ts';

/** The part of an address that proves it. */
export function signedQuery(secret: KeyObject, id: string, expires: number): string {
  return `expires=${expires}&signature=${signatureOf(secret, id, expires)}`;
}

/**
 * Whether an address carries a signature.
 * @param query what follows `?`
 * @param nowS seconds since 1970
 * @throws MillraceError `invalid-credential` when it carries one that is not ours, is of another file, or has ended
 */
export function isSigned(secret: KeyObject, id: string, query: string, nowS: number): boolean {
  const found = new URLSearchParams(query);
  const [signature, text] = [found.get('signature'), found.get('expires')];
  if (signature === null && text === null) return false;
  const expires = /^\d{1,12}$/.test(text ?? '') ? Number(text) : 0;
  const expected = Buffer.from(signatureOf(secret, id, expires));
  const given = Buffer.from(signature ?? '');
  if (given.length !== expected.length || !timingSafeEqual(given, expected) || expires <= nowS) {
    throw invalidCredential();
  }
  return true;
}

function signatureOf(secret: KeyObject, id: string, expires: number): string {
  return createHmac('sha256', secret).update(`file\n${id}\n${expires}`).digest('base64url');
}
