/**
 * The HTTP face of the passkeys of the caller's own account. Registered where credentials are checked. Not here: what it does
 * (passkeys.ts), and signing in by one (passkey-login-routes.ts).
 */
import type { FastifyInstance } from 'fastify';
import { checked } from '../../../kernel/parse-body.ts';
import type { Users } from '../../accounts/users.ts';
import type { Passkeys } from '../../factors/passkeys.ts';
import { stampBy } from '../../identity/principal.ts';
import type { FreshSignIns } from '../../sign-in/fresh-sign-ins.ts';
import { refuseParameters, requireAccount } from '../requests.ts';
import { ADD_PASSKEY, PASSKEYS, RENAME_PASSKEY } from './passkey-operations.ts';

/** The name of a passkey until its holder gives it another one. */
const FIRST_NAME = 'Passkey';

export interface PasskeyRoutesOptions {
  readonly passkeys: Passkeys;
  readonly users: Users;
  readonly fresh: FreshSignIns;
}

type OnPasskey = { Params: { id: string } };

export async function passkeyRoutes(
  app: FastifyInstance,
  { passkeys, users, fresh }: PasskeyRoutesOptions,
): Promise<void> {
  refuseParameters(app);

  app.get('/auth/passkeys', { config: PASSKEYS.list }, async (request) => ({
    passkeys: await passkeys.list(requireAccount(request.principal).id),
  }));

  app.post('/auth/passkeys/begin', { config: PASSKEYS.begin }, async (request) => {
    const { id, session } = requireAccount(request.principal);
    await fresh.require(request.principal);
    return passkeys.begin(await users.get(id), session);
  });

  app.post('/auth/passkeys', { config: PASSKEYS.add }, async (request, reply) => {
    const { id, session } = requireAccount(request.principal);
    const { name = FIRST_NAME, credential } = checked(ADD_PASSKEY, request.body);
    const stamp = stampBy(request, request.id);
    return reply.code(201).send(await passkeys.add(await users.get(id), session, { name, credential }, stamp));
  });

  app.patch<OnPasskey>('/auth/passkeys/:id', { config: PASSKEYS.rename }, async (request) => {
    const { id } = requireAccount(request.principal);
    return passkeys.rename(id, request.params.id, checked(RENAME_PASSKEY, request.body).name);
  });

  app.delete<OnPasskey>('/auth/passkeys/:id', { config: PASSKEYS.remove }, async (request, reply) => {
    const { id } = requireAccount(request.principal);
    await fresh.require(request.principal);
    await passkeys.remove(id, request.params.id, stampBy(request, request.id));
    return reply.code(204).send();
  });
}
