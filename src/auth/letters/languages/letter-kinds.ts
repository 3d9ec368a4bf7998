/**
 * The closed table of letters: what each is for, what its template may name, and what it must name. Pure. Not here: their
 * words (languages/), and when they are sent.
 */

export const LETTER_KINDS = [
  'verify-address',
  'change-address',
  'reset-password',
  'sign-in-link',
  'new-sign-in',
  'password-changed',
  'way-in-changed',
  'address-changed',
  'test',
] as const;

export type LetterKind = (typeof LETTER_KINDS)[number];

/** What came of a letter so far. */
export const LETTER_STATES = ['waiting', 'sent', 'failed'] as const;

export type LetterState = (typeof LETTER_STATES)[number];

/** A member that a template may name, as `{{name}}`. */
export interface LetterVariable {
  readonly about: string;
  /** What previews show. */
  readonly sample: string;
}

export interface LetterTerms {
  readonly about: string;
  readonly variables: Readonly<Record<string, LetterVariable>>;
  /** The letter is of no use without one of these. */
  readonly needs: readonly string[];
  /** How long the letter is worth sending, in milliseconds. */
  readonly usefulMs: number;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const COMMON = {
  name: { about: 'User name of the account, else its address.', sample: 'ada' },
  site: { about: 'Where people reach this server, as a host name.', sample: 'app.example.org' },
} as const satisfies Readonly<Record<string, LetterVariable>>;
const link = (sample: string): LetterVariable => ({
  about: 'The link. Whoever has it can use it.',
  sample: `https://app.example.org/${sample}#5mXq0lIoTn2hYVvQ5wWJ3T1gq8c7m4Q0nR6bKc9eZsA`,
});
const time: LetterVariable = { about: 'When it happened, in UTC.', sample: '2026-11-24 09:30 UTC' };

/** Every kind of letter. */
export const LETTERS: Readonly<Record<LetterKind, LetterTerms>> = {
  'verify-address': {
    about: 'Asks a new account to confirm its address',
    variables: { ...COMMON, link: link('verify') },
    needs: ['link'],
    usefulMs: DAY,
  },
  'change-address': {
    about: 'Asks for the confirmation of a new address, at that address',
    variables: { ...COMMON, link: link('verify') },
    needs: ['link'],
    usefulMs: DAY,
  },
  'reset-password': {
    about: 'Holds the link that sets a new password',
    variables: { ...COMMON, link: link('reset') },
    needs: ['link'],
    usefulMs: 30 * MINUTE,
  },
  'sign-in-link': {
    about: 'Holds the link and the code that sign in',
    variables: {
      ...COMMON,
      link: link('link'),
      code: { about: 'Eight digits, in two groups.', sample: '4821 0937' },
    },
    needs: ['link', 'code'],
    usefulMs: 15 * MINUTE,
  },
  'new-sign-in': {
    about: 'Tells of a sign-in from a network that the account had not used',
    variables: {
      ...COMMON,
      time,
      network: { about: 'Address of the client.', sample: '192.0.2.7' },
      device: { about: 'What the client says it is.', sample: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0' },
    },
    needs: [],
    usefulMs: DAY,
  },
  'password-changed': {
    about: 'Tells of a new password',
    variables: { ...COMMON, time },
    needs: [],
    usefulMs: DAY,
  },
  'way-in-changed': {
    about: 'Tells of an authenticator app, passkey, recovery codes or provider that was added or removed',
    variables: {
      ...COMMON,
      time,
      change: { about: 'What changed, as a sentence.', sample: 'A passkey was added.' },
    },
    needs: [],
    usefulMs: DAY,
  },
  'address-changed': {
    about: 'Tells the old address of the new one',
    variables: { ...COMMON, time, address: { about: 'The new address.', sample: 'ada@new.example' } },
    needs: [],
    usefulMs: DAY,
  },
  test: {
    about: 'Shows an owner that mail works',
    variables: COMMON,
    needs: [],
    usefulMs: MINUTE,
  },
};

export function isLetterKind(text: string): text is LetterKind {
  return Object.hasOwn(LETTERS, text);
}

/** What a notice can tell of ways to sign in. */
export const WAY_CHANGES = [
  'totp-added',
  'totp-removed',
  'passkey-added',
  'passkey-removed',
  'codes-renewed',
  'provider-joined',
  'provider-removed',
] as const;

export type WayChange = (typeof WAY_CHANGES)[number];
