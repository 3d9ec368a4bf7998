/** The effective settings over HTTP, for administrators. */
import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config/config.ts';
import { requestBaseUrl } from '../../lib/request.ts';
import { declareOperation, jsonResponse, QUERY_PARAMETER_ERRORS } from '../../openapi/operation.ts';
import { namedSchema } from '../../openapi/schema.ts';
import { createAdminScopeGuard } from '../../policies/admin-scope-guard.ts';
import type { Policies } from '../../policies/policies.ts';
import { effectiveSettings, type ServerInfo } from './effective-settings-response.ts';
import { EFFECTIVE_SETTINGS } from './effective-settings-schema.ts';

export interface EffectiveSettingsRoutesOptions {
  readonly policies: Policies;
  readonly config: Config;
  readonly server: ServerInfo;
}

const OPERATION = declareOperation({
  id: 'getEffectiveSettings',
  tag: 'admin',
  summary: 'Get the effective settings, without secrets',
  description: 'They are server variables, so a change needs a restart.',
  responses: jsonResponse(
    'The settings of the process that responds.',
    namedSchema('EffectiveSettings', EFFECTIVE_SETTINGS),
  ),
  errors: QUERY_PARAMETER_ERRORS,
});

export async function effectiveSettingsRoutes(
  app: FastifyInstance,
  { policies, config, server }: EffectiveSettingsRoutesOptions,
): Promise<void> {
  const enter = createAdminScopeGuard(policies, '_admin:accounts');

  app.get('/admin/settings/effective', { config: OPERATION }, async (request) => {
    enter(request, 'read');
    return effectiveSettings(config, server, { baseUrl: requestBaseUrl(request), ip: request.ip });
  });
}
