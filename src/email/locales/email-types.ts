/** The closed table of e-mail types: purpose, permitted and required variables of each. Pure. */

export const EMAIL_KINDS = [
  'verify-email',
  'change-email',
  'reset-password',
  'magic-link',
  'new-sign-in',
  'password-changed',
  'sign-in-method-changed',
  'email-changed',
  'test',
] as const;

export type EmailKind = (typeof EMAIL_KINDS)[number];

/** The state of an e-mail. */
export const EMAIL_STATES = ['pending', 'succeeded', 'failed'] as const;

export type EmailState = (typeof EMAIL_STATES)[number];

/** A variable of a template, written as `{{name}}`. */
export interface EmailVariable {
  readonly description: string;
  /** Sample value for previews. */
  readonly example: string;
}

export interface EmailDefinition {
  readonly description: string;
  readonly variables: Readonly<Record<string, EmailVariable>>;
  /** The e-mail is of no use without one of these. */
  readonly requiredVariables: readonly string[];
  /** How long the e-mail is worth sending, in milliseconds. */
  readonly sendWithinMs: number;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const COMMON = {
  name: { description: 'User name, or the e-mail address if there is none.', example: 'ada' },
  site: { description: 'Host name of this server.', example: 'app.example.org' },
} as const satisfies Readonly<Record<string, EmailVariable>>;
const link = (sample: string): EmailVariable => ({
  description: 'The link. Anyone who has it can use it.',
  example: `https://app.example.org/${sample}#5mXq0lIoTn2hYVvQ5wWJ3T1gq8c7m4Q0nR6bKc9eZsA`,
});
const time: EmailVariable = { description: 'When it happened, in UTC.', example: '2026-11-24 09:30 UTC' };

/** Every type of e-mail. */
export const EMAIL_DEFINITIONS: Readonly<Record<EmailKind, EmailDefinition>> = {
  'verify-email': {
    description: 'Verifies the e-mail address of a new user',
    variables: { ...COMMON, link: link('verify') },
    requiredVariables: ['link'],
    sendWithinMs: DAY,
  },
  'change-email': {
    description: 'Verifies a new e-mail address, sent to that address',
    variables: { ...COMMON, link: link('verify') },
    requiredVariables: ['link'],
    sendWithinMs: DAY,
  },
  'reset-password': {
    description: 'Contains the link that sets a new password',
    variables: { ...COMMON, link: link('reset') },
    requiredVariables: ['link'],
    sendWithinMs: 30 * MINUTE,
  },
  'magic-link': {
    description: 'Contains the magic link and the code to sign in',
    variables: {
      ...COMMON,
      link: link('link'),
      code: { description: 'Eight digits, in two groups.', example: '4821 0937' },
    },
    requiredVariables: ['link', 'code'],
    sendWithinMs: 15 * MINUTE,
  },
  'new-sign-in': {
    description: 'Reports a sign-in from a network that the user had not used before',
    variables: {
      ...COMMON,
      time,
      ip: { description: 'IP address of the client.', example: '192.0.2.7' },
      device: {
        description: 'The user agent of the client.',
        example: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0',
      },
    },
    requiredVariables: [],
    sendWithinMs: DAY,
  },
  'password-changed': {
    description: 'Reports a changed password',
    variables: { ...COMMON, time },
    requiredVariables: [],
    sendWithinMs: DAY,
  },
  'sign-in-method-changed': {
    description: 'Reports that an authenticator app, passkey, recovery codes or a provider was added or removed',
    variables: {
      ...COMMON,
      time,
      change: { description: 'What changed, as a sentence.', example: 'A passkey was added.' },
    },
    requiredVariables: [],
    sendWithinMs: DAY,
  },
  'email-changed': {
    description: 'Reports the new e-mail address, sent to the old one',
    variables: { ...COMMON, time, newEmail: { description: 'The new e-mail address.', example: 'ada@new.example' } },
    requiredVariables: [],
    sendWithinMs: DAY,
  },
  test: {
    description: 'Test e-mail for an administrator',
    variables: COMMON,
    requiredVariables: [],
    sendWithinMs: MINUTE,
  },
};

export function isEmailKind(text: string): text is EmailKind {
  return Object.hasOwn(EMAIL_DEFINITIONS, text);
}

/** Changes of sign-in methods that a notification can report. */
export const SIGN_IN_METHOD_CHANGES = [
  'totp-added',
  'totp-removed',
  'passkey-added',
  'passkey-removed',
  'recovery-codes-regenerated',
  'provider-linked',
  'provider-unlinked',
] as const;

export type SignInMethodChange = (typeof SIGN_IN_METHOD_CHANGES)[number];
