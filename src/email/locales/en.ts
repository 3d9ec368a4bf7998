import type { EmailTexts } from './locale.ts';

export const ENGLISH_EMAIL_TEXTS: EmailTexts = {
  emails: {
    'verify-email': {
      subject: 'Verify your e-mail address',
      lines: [
        'Someone, hopefully you, registered this e-mail address at {{site}}.',
        'To verify it, open this link within 24 hours:',
        { button: 'Verify e-mail address' },
        'If it was not you, you can ignore this e-mail.',
      ],
    },
    'change-email': {
      subject: 'Verify your new e-mail address',
      lines: [
        'The e-mail address of the account {{name}} at {{site}} is to be changed to this one.',
        'To confirm the change, open this link within 24 hours:',
        { button: 'Use this e-mail address' },
        'If it was not you, you can ignore this e-mail: the account keeps its old e-mail address.',
      ],
    },
    'reset-password': {
      subject: 'Set a new password',
      lines: [
        'Someone, hopefully you, requested a new password for the account {{name}} at {{site}}.',
        'To set one, open this link within 30 minutes:',
        { button: 'Set a new password' },
        'It works once. If it was not you, you can ignore this e-mail: your password stays unchanged.',
      ],
    },
    'magic-link': {
      subject: 'Sign in to {{site}}',
      lines: [
        'Someone, hopefully you, wants to sign in to the account {{name}} at {{site}}.',
        'To sign in, open this link within 15 minutes, in the browser in which you requested it:',
        { button: 'Sign in' },
        'Or enter this code there:',
        { code: '{{code}}' },
        'Both work once. Do not share the code: {{site}} never asks for it by phone or e-mail.',
        'If it was not you, you can ignore this e-mail.',
      ],
    },
    'new-sign-in': {
      subject: 'New sign-in to {{site}}',
      lines: [
        'There was a sign-in to the account {{name}} from a new network.',
        'Time: {{time}}',
        'IP address: {{ip}}',
        'Device: {{device}}',
        'If it was you, you can ignore this e-mail. If not, set a new password, and end the session in the list of your devices.',
      ],
    },
    'password-changed': {
      subject: 'Your password was changed',
      lines: [
        'The password of the account {{name}} at {{site}} was changed ({{time}}).',
        'If it was not you, set a new one at once with "forgot password", and contact the operators of {{site}}.',
      ],
    },
    'sign-in-method-changed': {
      subject: 'A sign-in method was changed',
      lines: [
        '{{change}}',
        'This concerns the account {{name}} at {{site}} ({{time}}).',
        'If it was not you, set a new password at once, and contact the operators of {{site}}.',
      ],
    },
    'email-changed': {
      subject: 'Your e-mail address was changed',
      lines: [
        'The account {{name}} at {{site}} has another e-mail address now: {{newEmail}} ({{time}}).',
        'E-mails about the account are no longer sent to this address. If it was not you, contact the operators of {{site}} at once.',
      ],
    },
    test: {
      subject: 'E-mail works',
      lines: ['You requested this test e-mail from {{site}}. It has arrived: e-mail works.'],
    },
  },
  changes: {
    'totp-added': 'An authenticator app was added.',
    'totp-removed': 'The authenticator app was removed: sign-in no longer requires its code.',
    'passkey-added': 'A passkey was added.',
    'passkey-removed': 'A passkey was removed.',
    'recovery-codes-regenerated': 'New recovery codes were generated. The old ones no longer work.',
    'provider-linked': 'An account at another provider was linked. It can now be used to sign in.',
    'provider-unlinked': 'The account at another provider was unlinked. It can no longer be used to sign in.',
  },
};
