/** What owners set for the whole installation while it runs: redirects. Not here: settings of a process (kernel/config). */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { stampBy } from '../../auth/identity/principal.ts';
import type { Redirects } from '../../auth/providers/redirects.ts';
import { versionCondition, versionTag } from '../../collections/store/preconditions.ts';
import { checked } from '../../kernel/parse-body.ts';
import { enterAt } from '../../policies/http/enter-at.ts';
import type { Policies } from '../../policies/policies.ts';
import { SETTINGS_BODY, SETTINGS_OPERATIONS } from './provider-operations.ts';

export interface SettingsRoutesOptions {
  readonly policies: Policies;
  readonly redirects: Redirects;
}

const URL = '/admin/settings';

export async function settingsRoutes(app: FastifyInstance, options: SettingsRoutesOptions): Promise<void> {
  const { policies, redirects } = options;
  const enter = enterAt(policies, 'admin:accounts');
  const send = (reply: FastifyReply, kept: Awaited<ReturnType<Redirects['list']>>) =>
    reply.header('etag', versionTag(kept.revision)).send({ redirects: kept.redirects, always: redirects.fixed });

  app.get(URL, { config: SETTINGS_OPERATIONS.get }, async (request, reply) => {
    enter(request, 'read');
    return send(reply, await redirects.list());
  });

  app.put(URL, { config: SETTINGS_OPERATIONS.replace }, async (request, reply) => {
    const stamp = stampBy(enter(request, 'update'), request.id);
    const wanted = checked(SETTINGS_BODY, request.body).redirects;
    return send(reply, await redirects.replace(wanted, versionCondition(request.headers), stamp));
  });
}
