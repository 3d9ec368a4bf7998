/** E-mail templates and sent e-mails over HTTP, for administrators. */
import type { FastifyInstance } from 'fastify';
import { requireUser } from '../../auth/http/request-helpers.ts';
import { stampFromPrincipal } from '../../auth/identity/principal.ts';
import type { Reauthentication } from '../../auth/sign-in/reauthentication.ts';
import type { Users } from '../../auth/users/users.ts';
import type { Config } from '../../config/config.ts';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { LIST_ERRORS, LIST_PARAMETERS, parseListQuery } from '../../openapi/list-query.ts';
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
import { createAdminScopeGuard } from '../../policies/admin-scope-guard.ts';
import type { Policies } from '../../policies/policies.ts';
import {
  commonTemplateValues,
  defaultEmailTemplate,
  type EmailTemplates,
  requireValidTemplate,
} from '../email-templates.ts';
import { EMAIL_DEFINITIONS, EMAIL_KINDS, EMAIL_STATES, type EmailKind, isEmailKind } from '../locales/email-types.ts';
import { LANGUAGE_CODES, type LanguageCode, toSupportedLanguage } from '../locales/locales.ts';
import type { Outbox } from '../outbox.ts';
import { type EmailTemplate, renderTemplate } from '../template.ts';
import type { TestEmailSender } from '../test-email.ts';
import {
  EMAIL_LOG_ENTRY,
  EMAIL_PREVIEW,
  EMAIL_TEMPLATE_BODY,
  EMAIL_TEMPLATE_DRAFT,
  EMAIL_TEMPLATE_ENTRY,
  EMAIL_TEMPLATE_VIEW,
  EMAIL_TEST_RESULT,
  type EmailTemplateEntry,
  type EmailTemplateView,
} from './email-schemas.ts';

const tag = 'admin';
const ONE = [
  pathParameter('kind', 'The type of e-mail.', { type: 'string', enum: [...EMAIL_KINDS] }, 'emailKind'),
  pathParameter('locale', 'Its locale.', { type: 'string', enum: [...LANGUAGE_CODES] }),
];
const SHOWN = namedSchema('EmailTemplate', EMAIL_TEMPLATE_VIEW);
const MAIL_VERDICT_SHAPE = namedSchema('EmailTestResult', EMAIL_TEST_RESULT);
const limit = LIST_PARAMETERS.filter(({ name }) => name === 'limit');

const EMAIL_OPERATIONS = {
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

export interface EmailRoutesOptions {
  readonly policies: Policies;
  readonly users: Users;
  readonly emailTemplates: EmailTemplates;
  readonly testEmail: TestEmailSender;
  readonly outbox: Outbox;
  readonly reauthentication: Reauthentication;
  /** The settings `MILLRACE_DEFAULT_LOCALE` and the base URL of links in e-mails. */
  readonly config: Pick<Config, 'auth'>;
}

interface OnEmail {
  Params: { kind: string; locale: string };
}

const URL = '/admin/email-templates';
const TEMPLATE_URL = `${URL}/:kind/:locale`;

export async function emailRoutes(app: FastifyInstance, options: EmailRoutesOptions): Promise<void> {
  const { policies, users, emailTemplates, testEmail, outbox, reauthentication, config } = options;
  const enter = createAdminScopeGuard(policies, '_admin:accounts');

  const listed = (kind: EmailKind, language: LanguageCode): EmailTemplateEntry => {
    const { template, updatedAt } = emailTemplates.find(kind, language);
    const { description } = EMAIL_DEFINITIONS[kind];
    const { subject } = template;
    return { kind, locale: language, description, subject, updatedAt: updatedAt?.toISOString() ?? null };
  };
  const shown = (kind: EmailKind, language: LanguageCode): EmailTemplateView => {
    const { variables, requiredVariables } = EMAIL_DEFINITIONS[kind];
    return {
      ...listed(kind, language),
      ...emailTemplates.find(kind, language).template,
      defaults: defaultEmailTemplate(kind, language),
      variables: Object.entries(variables).map(([name, variable]) => ({ name, ...variable })),
      requiredVariables: [...requiredVariables],
    };
  };
  /** The fields of the request over the active template, with sample values. */
  const sample = (kind: EmailKind, language: LanguageCode, draft: Partial<EmailTemplate>): EmailTemplate => {
    const template = { ...emailTemplates.find(kind, language).template, ...draft };
    requireValidTemplate(kind, template);
    const samples = Object.entries(EMAIL_DEFINITIONS[kind].variables).map(([name, variable]) => [
      name,
      variable.example,
    ]);
    return renderTemplate(template, Object.fromEntries(samples));
  };

  app.get(URL, { config: EMAIL_OPERATIONS.list }, async (request) => {
    enter(request, 'read');
    return EMAIL_KINDS.flatMap((kind) => LANGUAGE_CODES.map((language) => listed(kind, language)));
  });

  app.get('/admin/emails', { config: EMAIL_OPERATIONS.sent }, async (request) => {
    policies.scope(request.principal, 'read', '_admin:accounts');
    const { limit, cursor, parameterValue } = parseListQuery(request, 'state');
    const requested = parameterValue('state');
    const state = EMAIL_STATES.find((one) => one === requested);
    if (requested !== null && state === undefined) {
      throw new MillraceError('invalid-parameter', `'state' must be one of ${EMAIL_STATES.join(', ')}`);
    }
    if (cursor !== null) throw new MillraceError('unknown-parameter', "The list has one page: there is no 'cursor'");
    return outbox.list(state ?? null, limit);
  });

  app.post('/admin/emails/test', { config: EMAIL_OPERATIONS.testServer }, async (request) => {
    const { principal } = enter(request, 'update');
    const user = await users.get(requireUser(principal).id);
    const language = toSupportedLanguage(user.profile['locale']) ?? config.auth.language;
    return testEmail.send(user, emailTemplates.render('test', language, commonTemplateValues(user, config.auth.base)));
  });

  app.get<OnEmail>(TEMPLATE_URL, { config: EMAIL_OPERATIONS.get }, async (request) => {
    enter(request, 'read');
    return shown(...named(request.params));
  });

  app.put<OnEmail>(TEMPLATE_URL, { config: EMAIL_OPERATIONS.replace }, async (request) => {
    const stamp = stampFromPrincipal(enter(request, 'update'), request.id);
    // An e-mail contains links that sign in, so its editor could redirect them.
    await reauthentication.require(request.principal);
    const one = named(request.params);
    await emailTemplates.replace(...one, validateBody(EMAIL_TEMPLATE_BODY, request.body), stamp);
    return shown(...one);
  });

  app.delete<OnEmail>(TEMPLATE_URL, { config: EMAIL_OPERATIONS.reset }, async (request, reply) => {
    const stamp = stampFromPrincipal(enter(request, 'update'), request.id);
    await emailTemplates.reset(...named(request.params), stamp);
    return reply.code(204).send();
  });

  app.post<OnEmail>(`${TEMPLATE_URL}/preview`, { config: EMAIL_OPERATIONS.preview }, async (request) => {
    enter(request, 'read');
    return sample(...named(request.params), validateBody(EMAIL_TEMPLATE_DRAFT, request.body));
  });

  app.post<OnEmail>(`${TEMPLATE_URL}/test`, { config: EMAIL_OPERATIONS.test }, async (request) => {
    const { principal } = enter(request, 'update');
    const email = sample(...named(request.params), validateBody(EMAIL_TEMPLATE_DRAFT, request.body));
    return testEmail.send(await users.get(requireUser(principal).id), email);
  });
}

/** @throws MillraceError `email-template-not-found` */
function named({ kind, locale }: OnEmail['Params']): [EmailKind, LanguageCode] {
  const known = LANGUAGE_CODES.find((name) => name === locale);
  if (isEmailKind(kind) && known !== undefined) return [kind, known];
  throw new MillraceError('email-template-not-found', 'There is no such e-mail template', {
    hint: `Kinds: ${EMAIL_KINDS.join(', ')}. Locales: ${LANGUAGE_CODES.join(', ')}`,
  });
}
