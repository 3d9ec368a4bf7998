/** The effective settings over HTTP, for administrators. */
import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config/config.ts';
import { requestBase } from '../../lib/request.ts';
import { operation, REQUEST_ERRORS, response } from '../../openapi/operation.ts';
import { shape } from '../../openapi/schema.ts';
import type { Policies } from '../../policies/policies.ts';
import { enterAt } from '../../policies/require-scope.ts';
import { effectiveSettings, type ServerInfo } from './effective-settings.ts';
import { EFFECTIVE_SETTINGS } from './settings-schemas.ts';

export interface EffectiveSettingsRoutesOptions {
  readonly policies: Policies;
  readonly config: Config;
  readonly server: ServerInfo;
}

const OPERATION = operation({
  id: 'getEffectiveSettings',
  tag: 'admin',
  summary: 'Get the effective settings, without secrets',
  description: 'They are server variables, so a change needs a restart.',
  responses: response('The settings of the process that responds.', shape('EffectiveSettings', EFFECTIVE_SETTINGS)),
  errors: REQUEST_ERRORS,
});

export async function effectiveSettingsRoutes(
  app: FastifyInstance,
  { policies, config, server }: EffectiveSettingsRoutesOptions,
): Promise<void> {
  const enter = enterAt(policies, '_admin:accounts');

  app.get('/admin/settings/effective', { config: OPERATION }, async (request) => {
    enter(request, 'read');
    return effectiveSettings(config, server, { baseUrl: requestBase(request), ip: request.ip });
  });
}
