/** Routes of the passkeys of the caller's own user. Registered where credentials are checked. */
import type { FastifyInstance } from 'fastify';
import { validateBody } from '../../lib/parse-body.ts';
import { stampFromPrincipal } from '../identity/principal.ts';
import type { Passkeys } from '../passkeys/passkeys.ts';
import type { Reauthentication } from '../sign-in/reauthentication.ts';
import type { Users } from '../users/users.ts';
import { ADD_PASSKEY_BODY, PASSKEY_OPERATIONS, RENAME_PASSKEY_BODY } from './passkey-openapi.ts';
import { rejectQueryParameters, requireUser } from './request-context.ts';

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
  rejectQueryParameters(app);

  app.get('/auth/passkeys', { config: PASSKEY_OPERATIONS.list }, async (request) => ({
    passkeys: await passkeys.list(requireUser(request.principal).id),
  }));

  app.post('/auth/passkeys/registration-options', { config: PASSKEY_OPERATIONS.begin }, async (request) => {
    const { id, session } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    return passkeys.begin(await users.get(id), session);
  });

  app.post('/auth/passkeys', { config: PASSKEY_OPERATIONS.add }, async (request, reply) => {
    const { id, session } = requireUser(request.principal);
    const { name = FIRST_NAME, credential } = validateBody(ADD_PASSKEY_BODY, request.body);
    const stamp = stampFromPrincipal(request, request.id);
    return reply.code(201).send(await passkeys.add(await users.get(id), session, { name, credential }, stamp));
  });

  app.patch<OnPasskey>('/auth/passkeys/:id', { config: PASSKEY_OPERATIONS.rename }, async (request) => {
    const { id } = requireUser(request.principal);
    return passkeys.rename(id, request.params.id, validateBody(RENAME_PASSKEY_BODY, request.body).name);
  });

  app.delete<OnPasskey>('/auth/passkeys/:id', { config: PASSKEY_OPERATIONS.remove }, async (request, reply) => {
    const { id } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    await passkeys.remove(id, request.params.id, stampFromPrincipal(request, request.id));
    return reply.code(204).send();
  });
}
