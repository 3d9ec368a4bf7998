/** Routes of the second factor of the caller's own user. Registered where credentials are checked. */
import type { FastifyInstance } from 'fastify';
import { checked } from '../../lib/parse-body.ts';
import { stampBy } from '../identity/principal.ts';
import type { Factors } from '../mfa/totp-factor.ts';
import type { Reauthentication } from '../sign-in/reauthentication.ts';
import type { Users } from '../users/users.ts';
import { CONFIRM_FACTOR, FACTORS } from './mfa-openapi.ts';
import { refuseParameters, requireUser, sessionOriginOf } from './request-context.ts';

export interface FactorRoutesOptions {
  readonly factors: Factors;
  readonly users: Users;
  readonly reauthentication: Reauthentication;
}

export async function factorRoutes(
  app: FastifyInstance,
  { factors, users, reauthentication }: FactorRoutesOptions,
): Promise<void> {
  refuseParameters(app);

  app.get('/auth/mfa', { config: FACTORS.shown }, async (request) => factors.shown(requireUser(request.principal).id));

  app.post('/auth/mfa/totp', { config: FACTORS.begin }, async (request, reply) => {
    const { id } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    const user = await users.get(id);
    return reply.code(201).send(await factors.begin(user));
  });

  app.post('/auth/mfa/totp/confirm', { config: FACTORS.confirm }, async (request) => {
    const { id, session } = requireUser(request.principal);
    const { code } = checked(CONFIRM_FACTOR, request.body);
    const [user, origin, stamp] = [await users.get(id), sessionOriginOf(request), stampBy(request, request.id)];
    return { recoveryCodes: await factors.confirm(user, session, code, origin, stamp) };
  });

  app.delete('/auth/mfa/totp', { config: FACTORS.remove }, async (request, reply) => {
    const { id } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    await factors.remove(id, stampBy(request, request.id));
    return reply.code(204).send();
  });

  app.post('/auth/mfa/recovery-codes', { config: FACTORS.renewCodes }, async (request) => {
    const { id } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    return { recoveryCodes: await factors.renewCodes(id, stampBy(request, request.id)) };
  });
}
