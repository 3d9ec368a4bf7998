/** OpenAPI operations of e-mail templates and sent e-mails. */
import { LIST_ERRORS, LIST_PARAMETERS } from '../../openapi/list-query.ts';
import { CHECKED_ERRORS, DONE, jsonBody, operation, REQUEST_ERRORS, response } from '../../openapi/operation.ts';
import { pathParameter, queryParameter } from '../../openapi/parameters.ts';
import { listOf, shape } from '../../openapi/schema.ts';
import { EMAIL_KINDS, EMAIL_STATES } from '../locales/email-types.ts';
import { LANGUAGE_NAMES } from '../locales/locales.ts';
import { EMAIL, EMAIL_DRAFT, LISTED_EMAIL, MAIL_VERDICT, PREVIEW, SENT_EMAIL, TEMPLATE } from './email-schemas.ts';

const tag = 'admin';
const ONE = [
  pathParameter('kind', 'The type of e-mail.', { type: 'string', enum: [...EMAIL_KINDS] }, 'emailKind'),
  pathParameter('locale', 'Its locale.', { type: 'string', enum: [...LANGUAGE_NAMES] }),
];
const SHOWN = shape('EmailTemplate', EMAIL);
const MAIL_VERDICT_SHAPE = shape('EmailTestResult', MAIL_VERDICT);
const limit = LIST_PARAMETERS.filter(({ name }) => name === 'limit');

export const EMAIL_OPERATIONS = {
  list: operation({
    id: 'listEmailTemplates',
    tag,
    summary: 'List the e-mail templates',
    responses: response('Each type in each language.', listOf(shape('EmailTemplateEntry', LISTED_EMAIL))),
    errors: REQUEST_ERRORS,
  }),
  get: operation({
    id: 'getEmailTemplate',
    tag,
    summary: 'Get an e-mail template with its variables',
    parameters: ONE,
    responses: response('The template.', SHOWN),
    errors: [...REQUEST_ERRORS, 'email-template-not-found'],
  }),
  replace: operation({
    id: 'replaceEmailTemplate',
    tag,
    summary: 'Replace an e-mail template',
    description: 'Active everywhere within a second.',
    parameters: ONE,
    body: jsonBody(TEMPLATE),
    responses: response('The changed template.', SHOWN),
    errors: [...CHECKED_ERRORS, 'email-template-not-found', 'reauthentication-required'],
  }),
  reset: operation({
    id: 'resetEmailTemplate',
    tag,
    summary: 'Restore the default e-mail template',
    parameters: ONE,
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'email-template-not-found'],
  }),
  preview: operation({
    id: 'previewEmailTemplate',
    tag,
    summary: 'Preview an e-mail with sample values',
    description: 'Missing fields have their active values. Nothing is changed.',
    parameters: ONE,
    body: jsonBody(EMAIL_DRAFT),
    responses: response('The e-mail.', PREVIEW),
    errors: [...CHECKED_ERRORS, 'email-template-not-found'],
  }),
  test: operation({
    id: 'sendEmailTemplateTest',
    tag,
    summary: 'Send an e-mail with sample values to yourself',
    description: 'Missing fields have their active values. At most one every ten seconds.',
    parameters: ONE,
    body: jsonBody(EMAIL_DRAFT),
    responses: response('Whether the mail server accepted the e-mail, and the error.', MAIL_VERDICT_SHAPE),
    errors: [...CHECKED_ERRORS, 'email-template-not-found'],
  }),
  sent: operation({
    id: 'listEmails',
    tag,
    summary: 'List the newest e-mails and their states',
    description: 'They are stored for seven days, without links and codes.',
    parameters: [
      ...limit,
      queryParameter('state', 'Only letters of this state.', { type: 'string', enum: [...EMAIL_STATES] }, 'emailState'),
    ],
    responses: response('The newest first.', listOf(shape('EmailLogEntry', SENT_EMAIL))),
    errors: LIST_ERRORS,
  }),
  testServer: operation({
    id: 'sendTestEmail',
    tag,
    summary: 'Send a test e-mail to yourself',
    description: 'At most one every ten seconds.',
    responses: response('Whether the mail server accepted the e-mail, and the error.', MAIL_VERDICT_SHAPE),
    errors: [...REQUEST_ERRORS, 'user-not-found'],
  }),
};
