/**
 * Recovery codes, for a user who has lost the device. 80 random bits each, so that a plain hash protects them. Pure,
 * except for the random bits.
 */
import { hash, randomBytes } from 'node:crypto';

const COUNT = 10;
const BYTES = 10;
/** The digits of Crockford's base32, which no reader confuses. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const FORM = /^[0-9a-z]{16}$/;

/** New codes, each as `xxxx-xxxx-xxxx-xxxx`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, () => {
    const bits = BigInt(`0x${randomBytes(BYTES).toString('hex')}`);
    const digits = Array.from({ length: 16 }, (_, at) => DIGITS[Number((bits >> BigInt(at * 5)) & 31n)]);
    return digits.join('').replace(/.{4}(?=.)/g, '$&-');
  });
}

/** The stored form of a code as a person types it; null for a text that is not one. */
export function hashRecoveryCode(typed: string): string | null {
  const code = typed.toLowerCase().replace(/[\s-]/g, '').replace(/[il]/g, '1').replace(/o/g, '0');
  return FORM.test(code) ? hash('sha256', code, 'base64url') : null;
}
