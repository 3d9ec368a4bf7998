/** Routes of sign-in with a passkey. Registered where credentials are not checked. */
import type { FastifyInstance } from 'fastify';
import { validateBody } from '../../lib/parse-body.ts';
import type { PasskeySignIn } from '../passkeys/passkey-sign-in.ts';
import type { Passkeys } from '../passkeys/passkeys.ts';
import { PASSKEY_CHALLENGE_BODY, PASSKEY_LOGIN_BODY, PASSKEY_OPERATIONS } from './passkey-openapi.ts';
import { rejectQueryParameters, sessionOriginOf } from './request-context.ts';

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
  rejectQueryParameters(app);

  app.post('/auth/passkeys/authentication-options', { config: PASSKEY_OPERATIONS.challenge }, async (request) =>
    passkeys.request(validateBody(PASSKEY_CHALLENGE_BODY, request.body).ticket ?? null),
  );

  app.post('/auth/passkeys/login', { config: PASSKEY_OPERATIONS.login }, async (request) =>
    passkeySignIn.signInWithPasskey(
      validateBody(PASSKEY_LOGIN_BODY, request.body).credential,
      sessionOriginOf(request),
    ),
  );
}
