/** What those who run the installation look at and try: the settings in force, and mail. Not here: the state (admin/routes.ts). */
import type { FastifyInstance } from 'fastify';
import type { Users } from '../../auth/accounts/users.ts';
import { requireAccount } from '../../auth/http/requests.ts';
import { languageOf } from '../../auth/letters/languages/languages.ts';
import { commonValues, type LetterTemplates } from '../../auth/letters/letter-templates.ts';
import type { TestLetters } from '../../auth/letters/test-letters.ts';
import type { Config } from '../../kernel/config/config.ts';
import { requestBase } from '../../kernel/request.ts';
import { enterAt } from '../../policies/http/enter-at.ts';
import type { Policies } from '../../policies/policies.ts';
import { effectiveSettings } from './effective-settings.ts';
import { INSTALLATION } from './installation-operations.ts';

export interface InstallationRoutesOptions {
  readonly policies: Policies;
  readonly users: Users;
  readonly testLetters: TestLetters;
  readonly letterTemplates: LetterTemplates;
  readonly config: Config;
  readonly version: string;
  readonly databaseVersion: string;
}

export async function installationRoutes(app: FastifyInstance, options: InstallationRoutesOptions): Promise<void> {
  const { policies, users, testLetters, letterTemplates, config, version, databaseVersion } = options;
  const enter = enterAt(policies, 'admin:accounts');
  const about = { version, databaseVersion, mailWay: testLetters.way };

  app.get('/admin/settings/effective', { config: INSTALLATION.effectiveSettings }, async (request) => {
    enter(request, 'read');
    return effectiveSettings(config, about, { base: requestBase(request), address: request.ip });
  });

  app.post('/admin/mail/test', { config: INSTALLATION.testMail }, async (request) => {
    const { principal } = enter(request, 'update');
    const user = await users.get(requireAccount(principal).id);
    const language = languageOf(user.profile['locale']) ?? config.auth.language;
    return testLetters.send(user, letterTemplates.fill('test', language, commonValues(user, config.auth.base)));
  });
}
