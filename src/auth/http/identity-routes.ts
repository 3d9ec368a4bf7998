/**
 * The HTTP face of the identities of the caller's own account: which there are, joining one, removing one. Registered where
 * credentials are checked. Not here: the flow that proves an identity (flow-routes.ts).
 */
import type { FastifyInstance } from 'fastify';
import { checked } from '../../kernel/parse-body.ts';
import { requestBase } from '../../kernel/request.ts';
import { type Identities, shownIdentities } from '../accounts/identities.ts';
import type { Users } from '../accounts/users.ts';
import type { OneTimeCodes } from '../flows/one-time-codes.ts';
import type { ProviderLogOut } from '../flows/provider-log-out.ts';
import type { ProviderSignIn } from '../flows/provider-sign-in.ts';
import { stampBy } from '../identity/principal.ts';
import type { FreshSignIns } from '../sign-in/fresh-sign-ins.ts';
import { BY_PROVIDER } from './flow-operations.ts';
import { refuseParameters, requireAccount, sessionOriginOf } from './requests.ts';
import { EXCHANGE, JOIN, LOG_OUT } from './schema.ts';

export interface IdentityRoutesOptions {
  readonly providerSignIn: ProviderSignIn;
  readonly codes: OneTimeCodes;
  readonly providerLogOut: ProviderLogOut;
  readonly identities: Identities;
  readonly users: Users;
  readonly fresh: FreshSignIns;
  readonly publicUrl: string | undefined;
}

interface OfProvider {
  Params: { provider: string };
}

export async function identityRoutes(app: FastifyInstance, options: IdentityRoutesOptions): Promise<void> {
  const { providerSignIn, codes, providerLogOut, identities, users, fresh, publicUrl } = options;
  refuseParameters(app);

  app.post('/auth/logout/provider', { config: BY_PROVIDER.logOut }, async (request) => {
    const account = requireAccount(request.principal);
    const { redirect, state = null } = checked(LOG_OUT, request.body);
    return { address: await providerLogOut.end(account, { redirect, state }, sessionOriginOf(request)) };
  });

  app.get('/auth/identities', { config: BY_PROVIDER.identities }, async (request) =>
    shownIdentities(await users.get(requireAccount(request.principal).id)),
  );

  app.post('/auth/identities', { config: BY_PROVIDER.finishJoin }, async (request, reply) => {
    const { id, session } = requireAccount(request.principal);
    const user = await users.get(id);
    const { code, codeVerifier } = checked(EXCHANGE, request.body);
    return reply.code(201).send(await codes.join(user, session, code, codeVerifier, sessionOriginOf(request)));
  });

  app.post<OfProvider>('/auth/identities/:provider', { config: BY_PROVIDER.beginJoin }, async (request) => {
    const { id } = requireAccount(request.principal);
    await fresh.require(request.principal);
    const { redirect, codeChallenge: challenge, state = null } = checked(JOIN, request.body);
    const base = publicUrl ?? requestBase(request);
    const wish = { redirect, challenge, state };
    return { address: await providerSignIn.beginJoin(id, request.params.provider, wish, base) };
  });

  app.delete<OfProvider>(
    '/auth/identities/:provider',
    { config: BY_PROVIDER.removeIdentity },
    async (request, reply) => {
      const { id } = requireAccount(request.principal);
      await fresh.require(request.principal);
      const usable = providerSignIn.usable().map(({ name }) => name);
      await identities.remove(id, request.params.provider, usable, stampBy(request, request.id));
      return reply.code(204).send();
    },
  );
}
