/** What the routes on letters take and answer with. Pure, and free of everything that only a server has: the dashboard takes the types. */
import Type, { type Static } from 'typebox';

const nullableText = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
const closed = { additionalProperties: false } as const;

const SUBJECT = Type.String({ minLength: 1, maxLength: 200, description: 'One line.' });
const TEXT = Type.String({ minLength: 1, maxLength: 20_000, description: 'Plain text, for readers without HTML.' });
const HTML = Type.String({ minLength: 1, maxLength: 60_000, description: 'The same as an HTML document.' });

/** What an owner changes. `{{name}}` stands for a variable. */
export const TEMPLATE = Type.Object({ subject: SUBJECT, text: TEXT, html: HTML }, closed);
/** Members that are missing are those in force. */
export const LETTER_DRAFT = Type.Partial(TEMPLATE, closed);

const FILLED = { subject: Type.String(), text: Type.String(), html: Type.String() };
export const PREVIEW = Type.Object(FILLED, { description: 'A letter with sample values.' });

export const LISTED_LETTER = Type.Object({
  kind: Type.String(),
  language: Type.String(),
  about: Type.String({ description: 'What the letter is for.' }),
  subject: Type.String({ description: 'The subject in force.' }),
  changedAt: nullableText('Since when an owner has it so; null for the letter of the program.'),
});

export const LETTER = Type.Object({
  ...LISTED_LETTER.properties,
  ...FILLED,
  defaults: Type.Object(FILLED, { description: 'The letter of the program.' }),
  variables: Type.Array(Type.Object({ name: Type.String(), about: Type.String(), sample: Type.String() }), {
    description: 'What the letter may name, as `{{name}}`.',
  }),
  needs: Type.Array(Type.String(), { description: 'Text and HTML must each name one of these, if there are any.' }),
});

export type ShownLetterTemplate = Static<typeof LETTER>;
export type ListedLetter = Static<typeof LISTED_LETTER>;
export type LetterPreview = Static<typeof PREVIEW>;

export const SENT_LETTER = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  to: Type.String({ description: 'The address, in lower case.' }),
  state: Type.Unsafe<'waiting' | 'sent' | 'failed'>({ type: 'string', enum: ['waiting', 'sent', 'failed'] }),
  tries: Type.Integer({ description: 'How often it was tried.' }),
  error: nullableText('Why the last try failed, in words.'),
  madeAt: Type.String(),
  nextAt: nullableText('When it is tried next; null when it is not.'),
  endedAt: nullableText('When it was sent, or given up.'),
});

export type SentLetter = Static<typeof SENT_LETTER>;
