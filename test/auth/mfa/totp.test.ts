/** Codes by RFC 6238, and those of an authenticator that shares no code with the server. */
import { generateSync } from 'otplib';
import t from 'tap';
import { hashRecoveryCode, newRecoveryCodes } from '../../../src/auth/mfa/recovery-codes.ts';
import { generateTotpSeed, matchTotpStep, otpauthUrl } from '../../../src/auth/mfa/totp.ts';

/** `12345678901234567890` as base32, the seed of RFC 6238 appendix B. */
const SEED = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

t.test('the codes of RFC 6238 appendix B, cut to six digits, are valid at their times', async (t) => {
  for (const [seconds, code] of [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ] as const) {
    const step = Math.floor(seconds / 30);
    t.equal(matchTotpStep(SEED, code, seconds * 1_000), step, `${seconds}`);
    t.equal(matchTotpStep(SEED, code, (seconds + 30) * 1_000), step, 'one step later');
    t.equal(matchTotpStep(SEED, code, (seconds - 30) * 1_000), step, 'one step before');
    t.equal(matchTotpStep(SEED, code, (seconds + 60) * 1_000), null, 'two steps later');
    t.equal(matchTotpStep(SEED, code, (seconds - 60) * 1_000), null, 'two steps before');
  }
  for (const none of ['', '28708', '2870820', 'abcdef', '-87082'])
    t.equal(matchTotpStep(SEED, none, 59_000), null, none);
});

t.test('another library reads the otpauth URL and creates the same codes', async (t) => {
  const seeds = Array.from({ length: 20 }, generateTotpSeed);
  t.equal(new Set(seeds).size, 20);
  for (const seed of seeds) {
    const address = new URL(otpauthUrl(seed, 'example.org', 'ada@example.org'));
    t.equal(address.protocol, 'otpauth:');
    t.equal(decodeURIComponent(address.pathname.split('/').at(-1) ?? ''), 'example.org:ada@example.org');
    const { secret = '', ...rest } = Object.fromEntries(address.searchParams);
    t.strictSame(rest, { issuer: 'example.org', algorithm: 'SHA1', digits: '6', period: '30' });
    t.equal(secret, seed);
    t.ok(secret.length >= 32, '160 bits');
    for (const epoch of [0, 59, 1_700_000_015]) {
      t.equal(matchTotpStep(seed, generateSync({ secret, epoch }), epoch * 1_000), Math.floor(epoch / 30));
    }
  }
});

t.test('a recovery code is recognized however it is typed', async (t) => {
  const codes = newRecoveryCodes();
  t.equal(new Set(codes).size, 10);
  for (const code of codes) {
    t.match(code, /^([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/);
    const hashed = hashRecoveryCode(code);
    t.match(hashed, /^[\w-]{43}$/);
    for (const typed of [code.toUpperCase(), code.replaceAll('-', ' '), code.replaceAll('0', 'O')]) {
      t.equal(hashRecoveryCode(typed), hashed, typed);
    }
  }
  for (const none of ['', '123456', 'x'.repeat(17), '----']) t.equal(hashRecoveryCode(none), null);
});
