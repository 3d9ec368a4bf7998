/** Routes of the second factor of the caller's own user. Registered where credentials are checked. */
import type { FastifyInstance } from 'fastify';
import { validateBody } from '../../lib/parse-body.ts';
import { stampFromPrincipal } from '../identity/principal.ts';
import type { Factors } from '../mfa/totp-factor.ts';
import type { Reauthentication } from '../sign-in/reauthentication.ts';
import type { Users } from '../users/users.ts';
import { CONFIRM_FACTOR_BODY, MFA_OPERATIONS } from './mfa-openapi.ts';
import { rejectQueryParameters, requireUser, sessionOriginOf } from './request-context.ts';

export interface FactorRoutesOptions {
  readonly factors: Factors;
  readonly users: Users;
  readonly reauthentication: Reauthentication;
}

export async function factorRoutes(
  app: FastifyInstance,
  { factors, users, reauthentication }: FactorRoutesOptions,
): Promise<void> {
  rejectQueryParameters(app);

  app.get('/auth/mfa', { config: MFA_OPERATIONS.shown }, async (request) =>
    factors.shown(requireUser(request.principal).id),
  );

  app.post('/auth/mfa/totp', { config: MFA_OPERATIONS.begin }, async (request, reply) => {
    const { id } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    const user = await users.get(id);
    return reply.code(201).send(await factors.begin(user));
  });

  app.post('/auth/mfa/totp/confirm', { config: MFA_OPERATIONS.confirm }, async (request) => {
    const { id, session } = requireUser(request.principal);
    const { code } = validateBody(CONFIRM_FACTOR_BODY, request.body);
    const [user, origin, stamp] = [
      await users.get(id),
      sessionOriginOf(request),
      stampFromPrincipal(request, request.id),
    ];
    return { recoveryCodes: await factors.confirm(user, session, code, origin, stamp) };
  });

  app.delete('/auth/mfa/totp', { config: MFA_OPERATIONS.remove }, async (request, reply) => {
    const { id } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    await factors.remove(id, stampFromPrincipal(request, request.id));
    return reply.code(204).send();
  });

  app.post('/auth/mfa/recovery-codes', { config: MFA_OPERATIONS.renewCodes }, async (request) => {
    const { id } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    return { recoveryCodes: await factors.renewCodes(id, stampFromPrincipal(request, request.id)) };
  });
}
