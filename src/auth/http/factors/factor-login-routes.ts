/**
 * The HTTP face of the second step of a sign-in. Registered where no credential is looked at. Not here: what it does
 * (factor-sign-in.ts).
 */
import type { FastifyInstance } from 'fastify';
import { checked } from '../../../kernel/parse-body.ts';
import type { FactorSignIn } from '../../factors/factor-sign-in.ts';
import { refuseParameters, sessionOriginOf } from '../requests.ts';
import { FACTOR_LOGIN } from '../schema.ts';
import { FACTORS } from './factor-operations.ts';

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
