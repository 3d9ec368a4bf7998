/**
 * Accounts over HTTP for those who run the installation: list, make, change, delete, and end their sessions. Not here:
 * the rules of it (managed-accounts.ts).
 */
import type { FastifyInstance } from 'fastify';
import { shownIdentities } from '../../auth/accounts/identities.ts';
import { requireSmall } from '../../auth/http/requests.ts';
import { CHANGE_USER, NEW_USER } from '../../auth/http/schema.ts';
import { toShown } from '../../auth/identity/user.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { checked } from '../../kernel/parse-body.ts';
import { enterAt } from '../../policies/http/enter-at.ts';
import type { Policies } from '../../policies/policies.ts';
import { parseListQuery } from '../list-query.ts';
import type { ManagedAccounts } from './managed-accounts.ts';
import { USERS } from './user-operations.ts';

export interface UserRoutesOptions {
  readonly policies: Policies;
  readonly accounts: ManagedAccounts;
}

interface OnUser {
  Params: { id: string };
}

interface OnSession {
  Params: { id: string; session: string };
}

export async function userRoutes(app: FastifyInstance, { policies, accounts }: UserRoutesOptions): Promise<void> {
  const enter = enterAt(policies, 'admin:accounts');

  app.get('/admin/users', { config: USERS.list }, async (request, reply) => {
    const scope = policies.scope(request.principal, 'read', 'admin:accounts');
    const { limit, after, chosen } = parseListQuery(request, 'kind', 'search');
    const kind = chosen('kind');
    if (kind !== null && kind !== 'user' && kind !== 'owner') {
      throw new MillraceError('invalid-parameter', "The parameter 'kind' is user or owner");
    }
    const found = await accounts.list(scope, { kind, search: chosen('search') }, after, limit + 1);
    const page = found.slice(0, limit);
    if (found.length > limit) reply.header('millrace-next', page.at(-1)?._id ?? '');
    return page.map(toShown);
  });

  app.post('/admin/users', { config: USERS.create }, async (request, reply) => {
    const scope = enter(request, 'create');
    const body = checked(NEW_USER, request.body);
    requireSmall('profile', body.profile);
    requireSmall('claims', body.claims);
    const user = await accounts.create(scope, body, request.id);
    return reply.code(201).header('location', `/admin/users/${user._id}`).send(toShown(user));
  });

  app.get<OnUser>('/admin/users/:id', { config: USERS.get }, async (request) =>
    toShown(await accounts.get(enter(request, 'read'), request.params.id)),
  );

  app.patch<OnUser>('/admin/users/:id', { config: USERS.change }, async (request) => {
    const scope = enter(request, 'update');
    const change = checked(CHANGE_USER, request.body);
    requireSmall('claims', change.claims);
    return toShown(await accounts.change(scope, request.params.id, change, request.id));
  });

  app.delete<OnUser>('/admin/users/:id', { config: USERS.remove }, async (request, reply) => {
    await accounts.remove(enter(request, 'delete'), request.params.id, request.id);
    return reply.code(204).send();
  });

  app.get<OnUser>('/admin/users/:id/identities', { config: USERS.identities }, async (request) =>
    shownIdentities(await accounts.get(enter(request, 'read'), request.params.id)),
  );

  app.delete<OnUser>('/admin/users/:id/mfa', { config: USERS.removeFactor }, async (request, reply) => {
    await accounts.removeFactor(enter(request, 'delete'), request.params.id, request.id);
    return reply.code(204).send();
  });

  app.get<OnUser>('/admin/users/:id/passkeys', { config: USERS.passkeys }, async (request) => ({
    passkeys: await accounts.passkeys(enter(request, 'read'), request.params.id),
  }));

  app.delete<OnUser>('/admin/users/:id/passkeys', { config: USERS.removePasskeys }, async (request, reply) => {
    await accounts.removePasskeys(enter(request, 'delete'), request.params.id, request.id);
    return reply.code(204).send();
  });

  app.get<OnUser>('/admin/users/:id/sessions', { config: USERS.sessions }, async (request) =>
    accounts.sessions(enter(request, 'read'), request.params.id),
  );

  app.delete<OnUser>('/admin/users/:id/sessions', { config: USERS.endSessions }, async (request, reply) => {
    await accounts.endSessions(enter(request, 'delete'), request.params.id, request.id);
    return reply.code(204).send();
  });

  app.delete<OnSession>('/admin/users/:id/sessions/:session', { config: USERS.endSession }, async (request, reply) => {
    const scope = enter(request, 'delete');
    await accounts.endSession(scope, request.params.id, request.params.session, request.id);
    return reply.code(204).send();
  });
}
