/** Routes of the second step of a sign-in. Registered where credentials are not checked. */
import type { FastifyInstance } from 'fastify';
import { checked } from '../../lib/parse-body.ts';
import type { FactorSignIn } from '../mfa/complete.ts';
import { FACTORS } from './mfa-openapi.ts';
import { refuseParameters, sessionOriginOf } from './request-context.ts';
import { FACTOR_LOGIN } from './request-schemas.ts';

export interface FactorLoginRoutesOptions {
  readonly factorSignIn: FactorSignIn;
}

export async function factorLoginRoutes(
  app: FastifyInstance,
  { factorSignIn }: FactorLoginRoutesOptions,
): Promise<void> {
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  refuseParameters(app);

  app.post('/auth/mfa/login', { config: FACTORS.login }, async (request) => {
    const { ticket, ...proof } = checked(FACTOR_LOGIN, request.body);
    return factorSignIn.enter(ticket, proof, sessionOriginOf(request));
  });
}
