/**
 * The HTTP face of signing in by a passkey. Registered where no credential is looked at. Not here: what it does
 * (passkey-sign-in.ts), and a passkey as the second factor (factor-login-routes.ts).
 */
import type { FastifyInstance } from 'fastify';
import { checked } from '../../../kernel/parse-body.ts';
import type { PasskeySignIn } from '../../factors/passkey-sign-in.ts';
import type { Passkeys } from '../../factors/passkeys.ts';
import { refuseParameters, sessionOriginOf } from '../requests.ts';
import { ASK_PASSKEY, PASSKEY_LOGIN, PASSKEYS } from './passkey-operations.ts';

export interface PasskeyLoginRoutesOptions {
  readonly passkeys: Passkeys;
  readonly passkeySignIn: PasskeySignIn;
}

export async function passkeyLoginRoutes(
  app: FastifyInstance,
  { passkeys, passkeySignIn }: PasskeyLoginRoutesOptions,
): Promise<void> {
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  refuseParameters(app);

  app.post('/auth/passkeys/challenge', { config: PASSKEYS.challenge }, async (request) =>
    passkeys.ask(checked(ASK_PASSKEY, request.body).ticket ?? null),
  );

  app.post('/auth/passkeys/login', { config: PASSKEYS.login }, async (request) =>
    passkeySignIn.enter(checked(PASSKEY_LOGIN, request.body).credential, sessionOriginOf(request)),
  );
}
