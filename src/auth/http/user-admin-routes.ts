/** Users over HTTP for administrators. */
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { parseListQuery } from '../../openapi/list-query.ts';
import type { Policies } from '../../policies/policies.ts';
import { createAdminScopeGuard } from '../../policies/require-scope.ts';
import { toUserView } from '../identity/user.ts';
import { toIdentityViews } from '../users/identities.ts';
import type { ManagedUsers } from './managed-users.ts';
import { requireMetadataSize } from './request-context.ts';
import { CREATE_USER_BODY, UPDATE_USER_BODY } from './request-schemas.ts';
import { USER_OPERATIONS } from './user-admin-openapi.ts';

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
  const enter = createAdminScopeGuard(policies, '_admin:accounts');

  app.get('/admin/users', { config: USER_OPERATIONS.list }, async (request, reply) => {
    const scope = policies.scope(request.principal, 'read', '_admin:accounts');
    const { limit, cursor, parameterValue: chosen } = parseListQuery(request, 'kind', 'search');
    const kind = chosen('kind');
    if (kind !== null && kind !== 'user' && kind !== 'admin') {
      throw new MillraceError('invalid-parameter', "The parameter 'kind' must be user or admin");
    }
    const found = await users.list(scope, { kind, search: chosen('search') }, cursor, limit + 1);
    const page = found.slice(0, limit);
    if (found.length > limit) reply.header('millrace-next', page.at(-1)?._id ?? '');
    return page.map(toUserView);
  });

  app.post('/admin/users', { config: USER_OPERATIONS.create }, async (request, reply) => {
    const scope = enter(request, 'create');
    const body = validateBody(CREATE_USER_BODY, request.body);
    requireMetadataSize('profile', body.profile);
    requireMetadataSize('claims', body.claims);
    const user = await users.create(scope, body, request.id);
    return reply.code(201).header('location', `/admin/users/${user._id}`).send(toUserView(user));
  });

  app.get<OnUser>('/admin/users/:id', { config: USER_OPERATIONS.get }, async (request) =>
    toUserView(await users.get(enter(request, 'read'), request.params.id)),
  );

  app.patch<OnUser>('/admin/users/:id', { config: USER_OPERATIONS.change }, async (request) => {
    const scope = enter(request, 'update');
    const change = validateBody(UPDATE_USER_BODY, request.body);
    requireMetadataSize('claims', change.claims);
    return toUserView(await users.change(scope, request.params.id, change, request.id));
  });

  app.delete<OnUser>('/admin/users/:id', { config: USER_OPERATIONS.remove }, async (request, reply) => {
    await users.remove(enter(request, 'delete'), request.params.id, request.id);
    return reply.code(204).send();
  });

  app.get<OnUser>('/admin/users/:id/identities', { config: USER_OPERATIONS.identities }, async (request) =>
    toIdentityViews(await users.get(enter(request, 'read'), request.params.id)),
  );

  app.delete<OnUser>('/admin/users/:id/mfa', { config: USER_OPERATIONS.removeFactor }, async (request, reply) => {
    await users.removeFactor(enter(request, 'delete'), request.params.id, request.id);
    return reply.code(204).send();
  });

  app.get<OnUser>('/admin/users/:id/passkeys', { config: USER_OPERATIONS.passkeys }, async (request) => ({
    passkeys: await users.passkeys(enter(request, 'read'), request.params.id),
  }));

  app.delete<OnUser>(
    '/admin/users/:id/passkeys',
    { config: USER_OPERATIONS.removePasskeys },
    async (request, reply) => {
      await users.removePasskeys(enter(request, 'delete'), request.params.id, request.id);
      return reply.code(204).send();
    },
  );

  app.get<OnUser>('/admin/users/:id/sessions', { config: USER_OPERATIONS.sessions }, async (request) =>
    users.sessions(enter(request, 'read'), request.params.id),
  );

  app.delete<OnUser>('/admin/users/:id/sessions', { config: USER_OPERATIONS.endSessions }, async (request, reply) => {
    await users.endSessions(enter(request, 'delete'), request.params.id, request.id);
    return reply.code(204).send();
  });

  app.delete<OnSession>(
    '/admin/users/:id/sessions/:session',
    { config: USER_OPERATIONS.endSession },
    async (request, reply) => {
      const scope = enter(request, 'delete');
      await users.endSession(scope, request.params.id, request.params.session, request.id);
      return reply.code(204).send();
    },
  );
}
