/**
 * The text of letters: to confirm an address, to set a new password, and to try whether mail works. Pure. Not here: how they
 * are sent (mail.ts).
 */
import type { Letter } from './mail.ts';

/** @param base scheme and authority under which people reach this server */
export function verifyLetter(to: string, token: string, base: string): Letter {
  return {
    to,
    subject: 'Confirm your e-mail address',
    text: `Somebody, we hope you, uses this address for an account.

To confirm it, open within 24 hours:
${base}/verify#${token}

If it was not you, there is nothing to do.
`,
  };
}

/** @param base scheme and authority under which people reach this server */
export function resetLetter(to: string, token: string, base: string): Letter {
  return {
    to,
    subject: 'Set a new password',
    text: `Somebody, we hope you, wants to set a new password for your account.

To do so, open within 30 minutes:
${base}/reset#${token}

It works once. If it was not you, there is nothing to do: your password stays.
`,
  };
}

/** @param base scheme and authority under which people reach this server */
export function testLetter(to: string, base: string): Letter {
  return {
    to,
    subject: 'Mail works',
    text: `You asked for this letter at ${base}/dashboard, to see whether mail works. It does.
`,
  };
}
