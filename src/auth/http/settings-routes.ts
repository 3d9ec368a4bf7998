/** Settings that administrators change at run time: redirect URLs. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { parseVersionPrecondition, versionTag } from '../../collections/store/preconditions.ts';
import { validateBody } from '../../lib/parse-body.ts';
import type { Policies } from '../../policies/policies.ts';
import { createAdminScopeGuard } from '../../policies/require-scope.ts';
import { stampFromPrincipal } from '../identity/principal.ts';
import type { RedirectAllowlist } from '../providers/redirect-allowlist.ts';
import { SETTINGS_BODY, SETTINGS_OPERATIONS } from './provider-openapi.ts';

export interface SettingsRoutesOptions {
  readonly policies: Policies;
  readonly redirects: RedirectAllowlist;
}

const URL = '/admin/settings';

export async function settingsRoutes(app: FastifyInstance, options: SettingsRoutesOptions): Promise<void> {
  const { policies, redirects } = options;
  const enter = createAdminScopeGuard(policies, '_admin:accounts');
  const send = (reply: FastifyReply, kept: Awaited<ReturnType<RedirectAllowlist['list']>>) =>
    reply
      .header('etag', versionTag(kept.revision))
      .send({ redirectUrls: kept.redirectUrls, configuredRedirectUrls: redirects.fixed });

  app.get(URL, { config: SETTINGS_OPERATIONS.get }, async (request, reply) => {
    enter(request, 'read');
    return send(reply, await redirects.list());
  });

  app.patch(URL, { config: SETTINGS_OPERATIONS.update }, async (request, reply) => {
    const stamp = stampFromPrincipal(enter(request, 'update'), request.id);
    const requested = validateBody(SETTINGS_BODY, request.body).redirectUrls ?? (await redirects.list()).redirectUrls;
    return send(reply, await redirects.replace(requested, parseVersionPrecondition(request.headers), stamp));
  });
}
