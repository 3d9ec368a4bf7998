/** Routes of the second step of a sign-in. Registered where credentials are not checked. */
import type { FastifyInstance } from 'fastify';
import { validateBody } from '../../lib/parse-body.ts';
import type { FactorSignIn } from '../mfa/factor-sign-in.ts';
import { MFA_OPERATIONS } from './mfa-openapi.ts';
import { rejectQueryParameters, sessionOriginOf } from './request-context.ts';
import { FACTOR_LOGIN_BODY } from './request-schemas.ts';

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
  rejectQueryParameters(app);

  app.post('/auth/mfa/login', { config: MFA_OPERATIONS.login }, async (request) => {
    const { ticket, ...proof } = validateBody(FACTOR_LOGIN_BODY, request.body);
    return factorSignIn.complete(ticket, proof, sessionOriginOf(request));
  });
}
