/** The letters in English. */
import type { Language } from './language.ts';

export const ENGLISH: Language = {
  letters: {
    'verify-address': {
      subject: 'Confirm your e-mail address',
      lines: [
        'Somebody, we hope you, uses this address for an account at {{site}}.',
        'To confirm it, open this link within 24 hours:',
        { button: 'Confirm the address' },
        'If it was not you, there is nothing to do.',
      ],
    },
    'change-address': {
      subject: 'Confirm your new e-mail address',
      lines: [
        'The account {{name}} at {{site}} wants to use this address from now on.',
        'To agree, open this link within 24 hours:',
        { button: 'Use this address' },
        'If it was not you, there is nothing to do: the account keeps its old address.',
      ],
    },
    'reset-password': {
      subject: 'Set a new password',
      lines: [
        'Somebody, we hope you, wants to set a new password for the account {{name}} at {{site}}.',
        'To do so, open this link within 30 minutes:',
        { button: 'Set a new password' },
        'It works once. If it was not you, there is nothing to do: your password stays.',
      ],
    },
    'sign-in-link': {
      subject: 'Sign in to {{site}}',
      lines: [
        'Somebody, we hope you, wants to sign in to the account {{name}} at {{site}}.',
        'To do so, open this link within 15 minutes, in the browser that asked for it:',
        { button: 'Sign in' },
        'Or type this code where you asked for it:',
        { code: '{{code}}' },
        'Both work once. Tell the code to nobody: {{site}} never asks for it by phone or letter.',
        'If it was not you, there is nothing to do.',
      ],
    },
    'new-sign-in': {
      subject: 'New sign-in to {{site}}',
      lines: [
        'The account {{name}} was signed in to from a network that it had not used before.',
        'Time: {{time}}',
        'Network: {{network}}',
        'Device: {{device}}',
        'If it was you, there is nothing to do. If not, set a new password, and end the session in the list of your devices.',
      ],
    },
    'password-changed': {
      subject: 'Your password was changed',
      lines: [
        'The password of the account {{name}} at {{site}} was changed ({{time}}).',
        'If it was not you, set a new one at once by "forgot password", and tell those who run {{site}}.',
      ],
    },
    'way-in-changed': {
      subject: 'A way to sign in was changed',
      lines: [
        '{{change}}',
        'This concerns the account {{name}} at {{site}} ({{time}}).',
        'If it was not you, set a new password at once, and tell those who run {{site}}.',
      ],
    },
    'address-changed': {
      subject: 'Your e-mail address was changed',
      lines: [
        'The account {{name}} at {{site}} has another e-mail address now: {{address}} ({{time}}).',
        'Letters about the account no longer come here. If it was not you, tell those who run {{site}} at once.',
      ],
    },
    test: {
      subject: 'Mail works',
      lines: ['You asked {{site}} for this letter, to see whether mail works. It does.'],
    },
  },
  changes: {
    'totp-added': 'An authenticator app was added.',
    'totp-removed': 'The authenticator app was removed: sign-in no longer asks for its code.',
    'passkey-added': 'A passkey was added.',
    'passkey-removed': 'A passkey was removed.',
    'codes-renewed': 'New recovery codes were made. The old ones no longer work.',
    'provider-joined': 'An account at another provider was joined, and signs in to this one now.',
    'provider-removed': 'The account at another provider was removed, and no longer signs in to this one.',
  },
};
