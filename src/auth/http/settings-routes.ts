/** Settings that administrators change at run time: redirect URLs. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import Type from 'typebox';
import { parseVersionPrecondition, versionTag } from '../../collections/store/preconditions.ts';
import { validateBody } from '../../lib/parse-body.ts';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  PRECONDITION_ERRORS,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { IF_MATCH } from '../../openapi/parameters.ts';
import { namedSchema } from '../../openapi/schema.ts';
import { createAdminScopeGuard } from '../../policies/admin-scope-guard.ts';
import type { Policies } from '../../policies/policies.ts';
import { stampFromPrincipal } from '../identity/principal.ts';
import type { RedirectAllowlist } from '../providers/redirect-allowlist.ts';

const tag = 'admin';

const REDIRECTS = Type.Array(Type.String({ minLength: 1, maxLength: 2_048 }), {
  maxItems: 200,
  uniqueItems: true,
  description:
    'URLs that a sign-in by a provider may end at, those of native apps too. A redirect must be equal to one of them; the ' +
    'port of http://127.0.0.1 and http://[::1] is free.',
});
/** The body of `PATCH /admin/settings`. */
const SETTINGS_BODY = Type.Object(
  { redirectUrls: Type.Optional(REDIRECTS) },
  { additionalProperties: false, description: 'A merge patch: a setting that is absent stays as it is.' },
);
const SETTINGS_SHAPE = namedSchema(
  'SignInSettings',
  Type.Object({
    redirectUrls: REDIRECTS,
    configuredRedirectUrls: Type.Array(Type.String(), {
      description: 'Those that MILLRACE_REDIRECT_URLS allows besides.',
    }),
  }),
);

const SETTINGS_OPERATIONS = {
  get: declareOperation({
    id: 'getSettings',
    tag,
    summary: 'Get the settings that administrators change at run time',
    responses: jsonResponse('The settings.', SETTINGS_SHAPE, 200, ['ETag']),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  update: declareOperation({
    id: 'updateSettings',
    tag,
    summary: 'Change the settings that administrators change at run time',
    parameters: [IF_MATCH],
    body: jsonBody(SETTINGS_BODY),
    responses: jsonResponse('The settings.', SETTINGS_SHAPE, 200, ['ETag']),
    errors: [...VALIDATION_ERRORS, ...PRECONDITION_ERRORS],
  }),
};

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
