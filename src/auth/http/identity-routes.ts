/**
 * Routes of the identities of the caller's own user: listing, linking and unlinking them. Registered where credentials
 * are checked.
 */
import type { FastifyInstance } from 'fastify';
import { validateBody } from '../../lib/parse-body.ts';
import { requestBaseUrl } from '../../lib/request.ts';
import { stampFromPrincipal } from '../identity/principal.ts';
import type { AuthorizationCodes } from '../oauth/authorization-codes.ts';
import type { ProviderSignIn } from '../oauth/provider-sign-in.ts';
import type { ProviderLogOut } from '../oauth/rp-logout.ts';
import type { Reauthentication } from '../sign-in/reauthentication.ts';
import { type Identities, toIdentityViews } from '../users/identities.ts';
import type { Users } from '../users/users.ts';
import { PROVIDER_SIGN_IN_OPERATIONS } from './oauth-openapi.ts';
import { rejectAllQueryParameters, requireUser, sessionOriginOf } from './request-helpers.ts';
import { CODE_EXCHANGE_BODY, LINK_IDENTITY_BODY, PROVIDER_LOGOUT_BODY } from './request-schemas.ts';

export interface IdentityRoutesOptions {
  readonly providerSignIn: ProviderSignIn;
  readonly codes: AuthorizationCodes;
  readonly providerLogOut: ProviderLogOut;
  readonly identities: Identities;
  readonly users: Users;
  readonly reauthentication: Reauthentication;
  readonly publicUrl: string | undefined;
}

interface OfProvider {
  Params: { provider: string };
}

export async function identityRoutes(app: FastifyInstance, options: IdentityRoutesOptions): Promise<void> {
  const { providerSignIn, codes, providerLogOut, identities, users, reauthentication, publicUrl } = options;
  rejectAllQueryParameters(app);

  app.post('/auth/logout/provider', { config: PROVIDER_SIGN_IN_OPERATIONS.logOut }, async (request) => {
    const user = requireUser(request.principal);
    const { redirect, state = null } = validateBody(PROVIDER_LOGOUT_BODY, request.body);
    return { url: await providerLogOut.end(user, { redirect, state }, sessionOriginOf(request)) };
  });

  app.get('/auth/identities', { config: PROVIDER_SIGN_IN_OPERATIONS.identities }, async (request) =>
    toIdentityViews(await users.get(requireUser(request.principal).id)),
  );

  app.post('/auth/identities', { config: PROVIDER_SIGN_IN_OPERATIONS.finishLink }, async (request, reply) => {
    const { id, session } = requireUser(request.principal);
    const user = await users.get(id);
    const { code, codeVerifier } = validateBody(CODE_EXCHANGE_BODY, request.body);
    return reply.code(201).send(await codes.join(user, session, code, codeVerifier, sessionOriginOf(request)));
  });

  app.post<OfProvider>(
    '/auth/identities/:provider',
    { config: PROVIDER_SIGN_IN_OPERATIONS.beginLink },
    async (request) => {
      const { id } = requireUser(request.principal);
      await reauthentication.require(request.principal);
      const { redirect, codeChallenge: challenge, state = null } = validateBody(LINK_IDENTITY_BODY, request.body);
      const base = publicUrl ?? requestBaseUrl(request);
      const wish = { redirect, challenge, state };
      return { url: await providerSignIn.beginLink(id, request.params.provider, wish, base) };
    },
  );

  app.delete<OfProvider>(
    '/auth/identities/:provider',
    { config: PROVIDER_SIGN_IN_OPERATIONS.removeIdentity },
    async (request, reply) => {
      const { id } = requireUser(request.principal);
      await reauthentication.require(request.principal);
      const usable = providerSignIn.listAvailable().map(({ name }) => name);
      await identities.remove(id, request.params.provider, usable, stampFromPrincipal(request, request.id));
      return reply.code(204).send();
    },
  );
}
