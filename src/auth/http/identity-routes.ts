/**
 * Routes of the identities of the caller's own user: listing, linking and unlinking them. Registered where credentials
 * are checked.
 */
import type { FastifyInstance } from 'fastify';
import { checked } from '../../lib/parse-body.ts';
import { requestBase } from '../../lib/request.ts';
import { stampBy } from '../identity/principal.ts';
import type { OneTimeCodes } from '../oauth/authorization-codes.ts';
import type { ProviderSignIn } from '../oauth/provider-sign-in.ts';
import type { ProviderLogOut } from '../oauth/rp-logout.ts';
import type { Reauthentication } from '../sign-in/reauthentication.ts';
import { type Identities, shownIdentities } from '../users/identities.ts';
import type { Users } from '../users/users.ts';
import { BY_PROVIDER } from './oauth-openapi.ts';
import { refuseParameters, requireUser, sessionOriginOf } from './request-context.ts';
import { EXCHANGE, LINK, LOG_OUT } from './request-schemas.ts';

export interface IdentityRoutesOptions {
  readonly providerSignIn: ProviderSignIn;
  readonly codes: OneTimeCodes;
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
  refuseParameters(app);

  app.post('/auth/logout/provider', { config: BY_PROVIDER.logOut }, async (request) => {
    const user = requireUser(request.principal);
    const { redirect, state = null } = checked(LOG_OUT, request.body);
    return { url: await providerLogOut.end(user, { redirect, state }, sessionOriginOf(request)) };
  });

  app.get('/auth/identities', { config: BY_PROVIDER.identities }, async (request) =>
    shownIdentities(await users.get(requireUser(request.principal).id)),
  );

  app.post('/auth/identities', { config: BY_PROVIDER.finishLink }, async (request, reply) => {
    const { id, session } = requireUser(request.principal);
    const user = await users.get(id);
    const { code, codeVerifier } = checked(EXCHANGE, request.body);
    return reply.code(201).send(await codes.join(user, session, code, codeVerifier, sessionOriginOf(request)));
  });

  app.post<OfProvider>('/auth/identities/:provider', { config: BY_PROVIDER.beginLink }, async (request) => {
    const { id } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    const { redirect, codeChallenge: challenge, state = null } = checked(LINK, request.body);
    const base = publicUrl ?? requestBase(request);
    const wish = { redirect, challenge, state };
    return { url: await providerSignIn.beginLink(id, request.params.provider, wish, base) };
  });

  app.delete<OfProvider>(
    '/auth/identities/:provider',
    { config: BY_PROVIDER.removeIdentity },
    async (request, reply) => {
      const { id } = requireUser(request.principal);
      await reauthentication.require(request.principal);
      const usable = providerSignIn.usable().map(({ name }) => name);
      await identities.remove(id, request.params.provider, usable, stampBy(request, request.id));
      return reply.code(204).send();
    },
  );
}
