/** Routes of the passkeys of the caller's own user. Registered where credentials are checked. */
import type { FastifyInstance } from 'fastify';
import { checked } from '../../lib/parse-body.ts';
import { stampBy } from '../identity/principal.ts';
import type { Passkeys } from '../passkeys/passkeys.ts';
import type { Reauthentication } from '../sign-in/reauthentication.ts';
import type { Users } from '../users/users.ts';
import { ADD_PASSKEY, PASSKEYS, RENAME_PASSKEY } from './passkey-openapi.ts';
import { refuseParameters, requireUser } from './request-context.ts';

/** The name of a passkey until its user renames it. */
const FIRST_NAME = 'Passkey';

export interface PasskeyRoutesOptions {
  readonly passkeys: Passkeys;
  readonly users: Users;
  readonly reauthentication: Reauthentication;
}

type OnPasskey = { Params: { id: string } };

export async function passkeyRoutes(
  app: FastifyInstance,
  { passkeys, users, reauthentication }: PasskeyRoutesOptions,
): Promise<void> {
  refuseParameters(app);

  app.get('/auth/passkeys', { config: PASSKEYS.list }, async (request) => ({
    passkeys: await passkeys.list(requireUser(request.principal).id),
  }));

  app.post('/auth/passkeys/registration-options', { config: PASSKEYS.begin }, async (request) => {
    const { id, session } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    return passkeys.begin(await users.get(id), session);
  });

  app.post('/auth/passkeys', { config: PASSKEYS.add }, async (request, reply) => {
    const { id, session } = requireUser(request.principal);
    const { name = FIRST_NAME, credential } = checked(ADD_PASSKEY, request.body);
    const stamp = stampBy(request, request.id);
    return reply.code(201).send(await passkeys.add(await users.get(id), session, { name, credential }, stamp));
  });

  app.patch<OnPasskey>('/auth/passkeys/:id', { config: PASSKEYS.rename }, async (request) => {
    const { id } = requireUser(request.principal);
    return passkeys.rename(id, request.params.id, checked(RENAME_PASSKEY, request.body).name);
  });

  app.delete<OnPasskey>('/auth/passkeys/:id', { config: PASSKEYS.remove }, async (request, reply) => {
    const { id } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    await passkeys.remove(id, request.params.id, stampBy(request, request.id));
    return reply.code(204).send();
  });
}
