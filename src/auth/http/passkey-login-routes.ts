/** Routes of sign-in with a passkey. Registered where credentials are not checked. */
import type { FastifyInstance } from 'fastify';
import { checked } from '../../lib/parse-body.ts';
import type { PasskeySignIn } from '../passkeys/passkey-sign-in.ts';
import type { Passkeys } from '../passkeys/passkeys.ts';
import { PASSKEY_LOGIN, PASSKEYS, REQUEST_PASSKEY } from './passkey-openapi.ts';
import { refuseParameters, sessionOriginOf } from './request-context.ts';

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

  app.post('/auth/passkeys/authentication-options', { config: PASSKEYS.challenge }, async (request) =>
    passkeys.request(checked(REQUEST_PASSKEY, request.body).ticket ?? null),
  );

  app.post('/auth/passkeys/login', { config: PASSKEYS.login }, async (request) =>
    passkeySignIn.enter(checked(PASSKEY_LOGIN, request.body).credential, sessionOriginOf(request)),
  );
}
