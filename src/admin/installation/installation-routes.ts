/** The effective settings and the test e-mail over HTTP, for administrators. */
import type { FastifyInstance } from 'fastify';
import type { Users } from '../../auth/accounts/users.ts';
import { commonValues, type EmailTemplates } from '../../auth/email/email-templates.ts';
import { languageOf } from '../../auth/email/locales/locales.ts';
import type { TestEmail } from '../../auth/email/test-email.ts';
import { requireUser } from '../../auth/http/request-context.ts';
import type { Config } from '../../kernel/config/config.ts';
import { requestBase } from '../../kernel/request.ts';
import { enterAt } from '../../policies/http/require-scope.ts';
import type { Policies } from '../../policies/policies.ts';
import { effectiveSettings } from './effective-settings.ts';
import { INSTALLATION } from './installation-operations.ts';

export interface InstallationRoutesOptions {
  readonly policies: Policies;
  readonly users: Users;
  readonly testEmail: TestEmail;
  readonly emailTemplates: EmailTemplates;
  readonly config: Config;
  readonly version: string;
  readonly databaseVersion: string;
}

export async function installationRoutes(app: FastifyInstance, options: InstallationRoutesOptions): Promise<void> {
  const { policies, users, testEmail, emailTemplates, config, version, databaseVersion } = options;
  const enter = enterAt(policies, '_admin:accounts');
  const about = { version, databaseVersion, mailWay: testEmail.way };

  app.get('/admin/settings/effective', { config: INSTALLATION.effectiveSettings }, async (request) => {
    enter(request, 'read');
    return effectiveSettings(config, about, { baseUrl: requestBase(request), ip: request.ip });
  });

  app.post('/admin/emails/test', { config: INSTALLATION.testMail }, async (request) => {
    const { principal } = enter(request, 'update');
    const user = await users.get(requireUser(principal).id);
    const language = languageOf(user.profile['locale']) ?? config.auth.language;
    return testEmail.send(user, emailTemplates.fill('test', language, commonValues(user, config.auth.base)));
  });
}
