/** Request and response schemas of the e-mail routes. Pure, without server imports: the dashboard uses the types. */
import Type, { type Static } from 'typebox';

const nullableText = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
const closed = { additionalProperties: false } as const;

const SUBJECT = Type.String({ minLength: 1, maxLength: 200, description: 'One line.' });
const TEXT = Type.String({ minLength: 1, maxLength: 20_000, description: 'Plain text, for readers without HTML.' });
const HTML = Type.String({ minLength: 1, maxLength: 60_000, description: 'The same as an HTML document.' });

/** What an administrator changes. `{{name}}` is a variable. */
export const EMAIL_TEMPLATE_BODY = Type.Object({ subject: SUBJECT, text: TEXT, html: HTML }, closed);
/** Missing fields have their active values. */
export const EMAIL_TEMPLATE_DRAFT = Type.Partial(EMAIL_TEMPLATE_BODY, closed);

const FILLED = { subject: Type.String(), text: Type.String(), html: Type.String() };
export const EMAIL_PREVIEW = Type.Object(FILLED, { description: 'An e-mail with sample values.' });

export const EMAIL_TEMPLATE_ENTRY = Type.Object({
  kind: Type.String(),
  locale: Type.String(),
  description: Type.String({ description: 'What the e-mail is for.' }),
  subject: Type.String({ description: 'The active subject.' }),
  updatedAt: nullableText('When an administrator last changed it; null for the default template.'),
});

export const EMAIL_TEMPLATE_VIEW = Type.Object({
  ...EMAIL_TEMPLATE_ENTRY.properties,
  ...FILLED,
  defaults: Type.Object(FILLED, { description: 'The default template.' }),
  variables: Type.Array(Type.Object({ name: Type.String(), description: Type.String(), example: Type.String() }), {
    description: 'The variables of the e-mail, written as `{{name}}`.',
  }),
  requiredVariables: Type.Array(Type.String(), {
    description: 'Text and HTML must each name one of these, if there are any.',
  }),
});

export type EmailTemplateView = Static<typeof EMAIL_TEMPLATE_VIEW>;
export type EmailTemplateEntry = Static<typeof EMAIL_TEMPLATE_ENTRY>;
export type EmailPreview = Static<typeof EMAIL_PREVIEW>;

export const EMAIL_LOG_ENTRY = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  to: Type.String({ description: 'The e-mail address, in lower case.' }),
  state: Type.Unsafe<'pending' | 'succeeded' | 'failed'>({ type: 'string', enum: ['pending', 'succeeded', 'failed'] }),
  attempts: Type.Integer({ description: 'Number of attempts.' }),
  error: nullableText('The error of the last attempt, in words.'),
  createdAt: Type.String(),
  nextAttemptAt: nullableText('Time of the next attempt; null when there is none.'),
  finishedAt: nullableText('When it was sent, or failed finally.'),
});

export type EmailLogEntry = Static<typeof EMAIL_LOG_ENTRY>;

export const EMAIL_TEST_RESULT = Type.Object({
  to: Type.Union([Type.String(), Type.Null()], {
    description: 'The e-mail address of the user; null when it has none.',
  }),
  sent: Type.Boolean({ description: 'Whether the mail server accepted the e-mail.' }),
  message: Type.String({ description: 'The result, in words.' }),
});

export type EmailTestResult = Static<typeof EMAIL_TEST_RESULT>;
