/**
 * The HTTP face of the second factor of the caller's own account. Registered where credentials are checked. Not here: what
 * it does (factors.ts), and signing in with it (factor-login-routes.ts).
 */
import type { FastifyInstance } from 'fastify';
import { checked } from '../../../kernel/parse-body.ts';
import type { Users } from '../../accounts/users.ts';
import type { Factors } from '../../factors/factors.ts';
import { stampBy } from '../../identity/principal.ts';
import type { FreshSignIns } from '../../sign-in/fresh-sign-ins.ts';
import { refuseParameters, requireAccount, sessionOriginOf } from '../requests.ts';
import { CONFIRM_FACTOR, FACTORS } from './factor-operations.ts';

export interface FactorRoutesOptions {
  readonly factors: Factors;
  readonly users: Users;
  readonly fresh: FreshSignIns;
}

export async function factorRoutes(
  app: FastifyInstance,
  { factors, users, fresh }: FactorRoutesOptions,
): Promise<void> {
  refuseParameters(app);

  app.get('/auth/mfa', { config: FACTORS.shown }, async (request) =>
    factors.shown(requireAccount(request.principal).id),
  );

  app.post('/auth/mfa/totp', { config: FACTORS.begin }, async (request, reply) => {
    const { id } = requireAccount(request.principal);
    await fresh.require(request.principal);
    const user = await users.get(id);
    return reply.code(201).send(await factors.begin(user));
  });

  app.post('/auth/mfa/totp/confirm', { config: FACTORS.confirm }, async (request) => {
    const { id, session } = requireAccount(request.principal);
    const { code } = checked(CONFIRM_FACTOR, request.body);
    const [user, origin, stamp] = [await users.get(id), sessionOriginOf(request), stampBy(request, request.id)];
    return { recoveryCodes: await factors.confirm(user, session, code, origin, stamp) };
  });

  app.delete('/auth/mfa/totp', { config: FACTORS.remove }, async (request, reply) => {
    const { id } = requireAccount(request.principal);
    await fresh.require(request.principal);
    await factors.remove(id, stampBy(request, request.id));
    return reply.code(204).send();
  });

  app.post('/auth/mfa/recovery-codes', { config: FACTORS.renewCodes }, async (request) => {
    const { id } = requireAccount(request.principal);
    await fresh.require(request.principal);
    return { recoveryCodes: await factors.renewCodes(id, stampBy(request, request.id)) };
  });
}
