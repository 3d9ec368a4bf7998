/** Users over HTTP for administrators. */
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '../../lib/errors.ts';
import { checked } from '../../lib/parse-body.ts';
import { parseListQuery } from '../../openapi/list-query.ts';
import type { Policies } from '../../policies/policies.ts';
import { enterAt } from '../../policies/require-scope.ts';
import { toShown } from '../identity/user.ts';
import { shownIdentities } from '../users/identities.ts';
import type { ManagedUsers } from './managed-users.ts';
import { requireSmall } from './request-context.ts';
import { CHANGE_USER, NEW_USER } from './request-schemas.ts';
import { USERS } from './user-admin-openapi.ts';

export interface UserRoutesOptions {
  readonly policies: Policies;
  readonly users: ManagedUsers;
}

interface OnUser {
  Params: { id: string };
}

interface OnSession {
  Params: { id: string; session: string };
}

export async function userRoutes(app: FastifyInstance, { policies, users }: UserRoutesOptions): Promise<void> {
  const enter = enterAt(policies, '_admin:accounts');

  app.get('/admin/users', { config: USERS.list }, async (request, reply) => {
    const scope = policies.scope(request.principal, 'read', '_admin:accounts');
    const { limit, cursor, chosen } = parseListQuery(request, 'kind', 'search');
    const kind = chosen('kind');
    if (kind !== null && kind !== 'user' && kind !== 'admin') {
      throw new MillraceError('invalid-parameter', "The parameter 'kind' must be user or admin");
    }
    const found = await users.list(scope, { kind, search: chosen('search') }, cursor, limit + 1);
    const page = found.slice(0, limit);
    if (found.length > limit) reply.header('millrace-next', page.at(-1)?._id ?? '');
    return page.map(toShown);
  });

  app.post('/admin/users', { config: USERS.create }, async (request, reply) => {
    const scope = enter(request, 'create');
    const body = checked(NEW_USER, request.body);
    requireSmall('profile', body.profile);
    requireSmall('claims', body.claims);
    const user = await users.create(scope, body, request.id);
    return reply.code(201).header('location', `/admin/users/${user._id}`).send(toShown(user));
  });

  app.get<OnUser>('/admin/users/:id', { config: USERS.get }, async (request) =>
    toShown(await users.get(enter(request, 'read'), request.params.id)),
  );

  app.patch<OnUser>('/admin/users/:id', { config: USERS.change }, async (request) => {
    const scope = enter(request, 'update');
    const change = checked(CHANGE_USER, request.body);
    requireSmall('claims', change.claims);
    return toShown(await users.change(scope, request.params.id, change, request.id));
  });

  app.delete<OnUser>('/admin/users/:id', { config: USERS.remove }, async (request, reply) => {
    await users.remove(enter(request, 'delete'), request.params.id, request.id);
    return reply.code(204).send();
  });

  app.get<OnUser>('/admin/users/:id/identities', { config: USERS.identities }, async (request) =>
    shownIdentities(await users.get(enter(request, 'read'), request.params.id)),
  );

  app.delete<OnUser>('/admin/users/:id/mfa', { config: USERS.removeFactor }, async (request, reply) => {
    await users.removeFactor(enter(request, 'delete'), request.params.id, request.id);
    return reply.code(204).send();
  });

  app.get<OnUser>('/admin/users/:id/passkeys', { config: USERS.passkeys }, async (request) => ({
    passkeys: await users.passkeys(enter(request, 'read'), request.params.id),
  }));

  app.delete<OnUser>('/admin/users/:id/passkeys', { config: USERS.removePasskeys }, async (request, reply) => {
    await users.removePasskeys(enter(request, 'delete'), request.params.id, request.id);
    return reply.code(204).send();
  });

  app.get<OnUser>('/admin/users/:id/sessions', { config: USERS.sessions }, async (request) =>
    users.sessions(enter(request, 'read'), request.params.id),
  );

  app.delete<OnUser>('/admin/users/:id/sessions', { config: USERS.endSessions }, async (request, reply) => {
    await users.endSessions(enter(request, 'delete'), request.params.id, request.id);
    return reply.code(204).send();
  });

  app.delete<OnSession>('/admin/users/:id/sessions/:session', { config: USERS.endSession }, async (request, reply) => {
    const scope = enter(request, 'delete');
    await users.endSession(scope, request.params.id, request.params.session, request.id);
    return reply.code(204).send();
  });
}
