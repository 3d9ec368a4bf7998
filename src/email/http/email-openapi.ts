/** OpenAPI operations of e-mail templates and sent e-mails. */
import { LIST_ERRORS, LIST_PARAMETERS } from '../../openapi/list-query.ts';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { pathParameter, queryParameter } from '../../openapi/parameters.ts';
import { arraySchema, namedSchema } from '../../openapi/schema.ts';
import { EMAIL_KINDS, EMAIL_STATES } from '../locales/email-types.ts';
import { LANGUAGE_NAMES } from '../locales/locales.ts';
import {
  EMAIL_LOG_ENTRY,
  EMAIL_PREVIEW,
  EMAIL_TEMPLATE_BODY,
  EMAIL_TEMPLATE_DRAFT,
  EMAIL_TEMPLATE_ENTRY,
  EMAIL_TEMPLATE_VIEW,
  MAIL_VERDICT,
} from './email-schemas.ts';

const tag = 'admin';
const ONE = [
  pathParameter('kind', 'The type of e-mail.', { type: 'string', enum: [...EMAIL_KINDS] }, 'emailKind'),
  pathParameter('locale', 'Its locale.', { type: 'string', enum: [...LANGUAGE_NAMES] }),
];
const SHOWN = namedSchema('EmailTemplate', EMAIL_TEMPLATE_VIEW);
const MAIL_VERDICT_SHAPE = namedSchema('EmailTestResult', MAIL_VERDICT);
const limit = LIST_PARAMETERS.filter(({ name }) => name === 'limit');

export const EMAIL_OPERATIONS = {
  list: declareOperation({
    id: 'listEmailTemplates',
    tag,
    summary: 'List the e-mail templates',
    responses: jsonResponse(
      'Each type in each language.',
      arraySchema(namedSchema('EmailTemplateEntry', EMAIL_TEMPLATE_ENTRY)),
    ),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  get: declareOperation({
    id: 'getEmailTemplate',
    tag,
    summary: 'Get an e-mail template with its variables',
    parameters: ONE,
    responses: jsonResponse('The template.', SHOWN),
    errors: [...QUERY_PARAMETER_ERRORS, 'email-template-not-found'],
  }),
  replace: declareOperation({
    id: 'replaceEmailTemplate',
    tag,
    summary: 'Replace an e-mail template',
    description: 'Active everywhere within a second.',
    parameters: ONE,
    body: jsonBody(EMAIL_TEMPLATE_BODY),
    responses: jsonResponse('The changed template.', SHOWN),
    errors: [...VALIDATION_ERRORS, 'email-template-not-found', 'reauthentication-required'],
  }),
  reset: declareOperation({
    id: 'resetEmailTemplate',
    tag,
    summary: 'Restore the default e-mail template',
    parameters: ONE,
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'email-template-not-found'],
  }),
  preview: declareOperation({
    id: 'previewEmailTemplate',
    tag,
    summary: 'Preview an e-mail with sample values',
    description: 'Missing fields have their active values. Nothing is changed.',
    parameters: ONE,
    body: jsonBody(EMAIL_TEMPLATE_DRAFT),
    responses: jsonResponse('The e-mail.', EMAIL_PREVIEW),
    errors: [...VALIDATION_ERRORS, 'email-template-not-found'],
  }),
  test: declareOperation({
    id: 'sendEmailTemplateTest',
    tag,
    summary: 'Send an e-mail with sample values to yourself',
    description: 'Missing fields have their active values. At most one every ten seconds.',
    parameters: ONE,
    body: jsonBody(EMAIL_TEMPLATE_DRAFT),
    responses: jsonResponse('Whether the mail server accepted the e-mail, and the error.', MAIL_VERDICT_SHAPE),
    errors: [...VALIDATION_ERRORS, 'email-template-not-found'],
  }),
  sent: declareOperation({
    id: 'listEmails',
    tag,
    summary: 'List the newest e-mails and their states',
    description: 'They are stored for seven days, without links and codes.',
    parameters: [
      ...limit,
      queryParameter('state', 'Only letters of this state.', { type: 'string', enum: [...EMAIL_STATES] }, 'emailState'),
    ],
    responses: jsonResponse('The newest first.', arraySchema(namedSchema('EmailLogEntry', EMAIL_LOG_ENTRY))),
    errors: LIST_ERRORS,
  }),
  testServer: declareOperation({
    id: 'sendTestEmail',
    tag,
    summary: 'Send a test e-mail to yourself',
    description: 'At most one every ten seconds.',
    responses: jsonResponse('Whether the mail server accepted the e-mail, and the error.', MAIL_VERDICT_SHAPE),
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
};
