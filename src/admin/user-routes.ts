/**
 * Accounts over HTTP for those who run the installation: list, make, change, delete, and end their sessions. Owners are
 * made and changed by owners alone. Not here: what an account is (auth/accounts/users.ts).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Users } from '../auth/accounts/users.ts';
import { requireSmall } from '../auth/http/requests.ts';
import { CHANGE_USER, NEW_USER } from '../auth/http/schema.ts';
import { actorOf, OWNER_ROLES, type Principal } from '../auth/identity/principal.ts';
import { toShown, type User } from '../auth/identity/user.ts';
import type { Sessions } from '../auth/tokens/sessions.ts';
import { MillraceError } from '../kernel/errors.ts';
import { checked } from '../kernel/parse-body.ts';
import { parameters } from '../kernel/request.ts';
import type { Policies } from '../policies/policies.ts';
import type { Action } from '../policies/scope.ts';
import { parseListQuery } from './list-query.ts';
import { USERS } from './user-operations.ts';

export interface UserRoutesOptions {
  readonly policies: Policies;
  readonly auth: { readonly users: Users; readonly sessions: Sessions };
}

interface OnUser {
  Params: { id: string };
}

interface OnSession {
  Params: { id: string; session: string };
}

export async function userRoutes(app: FastifyInstance, { policies, auth }: UserRoutesOptions): Promise<void> {
  const { users, sessions } = auth;
  const stampOf = ({ principal, id }: FastifyRequest) => ({ by: actorOf(principal), request: id });
  const enter = (request: FastifyRequest, action: Action) => {
    policies.scope(request.principal, action, 'admin:accounts');
  };
  const reach = async (request: FastifyRequest<OnUser>, action: Action): Promise<User> => {
    parameters(request, []);
    enter(request, action);
    const user = await users.get(request.params.id);
    if (action !== 'read') requireOwnerFor(request.principal, user.kind);
    return user;
  };

  app.get('/admin/users', { config: USERS.list }, async (request, reply) => {
    enter(request, 'read');
    const { limit, after, chosen } = parseListQuery(request, 'kind');
    if (chosen !== null && chosen !== 'user' && chosen !== 'owner') {
      throw new MillraceError('invalid-parameter', "The parameter 'kind' is user or owner");
    }
    const found = await users.list(chosen, after, limit + 1);
    const page = found.slice(0, limit);
    if (found.length > limit) reply.header('millrace-next', page.at(-1)?._id ?? '');
    return page.map(toShown);
  });

  app.post('/admin/users', { config: USERS.create }, async (request, reply) => {
    parameters(request, []);
    enter(request, 'create');
    const body = checked(NEW_USER, request.body);
    requireOwnerFor(request.principal, body.kind ?? 'user');
    requireKnownRoles(body.kind ?? 'user', body.roles);
    requireSmall('profile', body.profile);
    requireSmall('claims', body.claims);
    if (body.username === undefined && body.email === undefined) {
      throw new MillraceError('invalid-body', 'An account needs a user name or an e-mail address');
    }
    const user = await users.create(body, stampOf(request));
    return reply.code(201).header('location', `/admin/users/${user._id}`).send(toShown(user));
  });

  app.get<OnUser>('/admin/users/:id', { config: USERS.get }, async (request) => toShown(await reach(request, 'read')));

  app.patch<OnUser>('/admin/users/:id', { config: USERS.change }, async (request) => {
    const { _id, kind } = await reach(request, 'update');
    const change = checked(CHANGE_USER, request.body);
    requireKnownRoles(kind, change.roles);
    requireSmall('claims', change.claims);
    return toShown(await users.change(_id, change, stampOf(request)));
  });

  app.delete<OnUser>('/admin/users/:id', { config: USERS.remove }, async (request, reply) => {
    const { _id } = await reach(request, 'delete');
    await users.remove(_id, stampOf(request));
    return reply.code(204).send();
  });

  app.get<OnUser>('/admin/users/:id/sessions', { config: USERS.sessions }, async (request) => {
    const { _id } = await reach(request, 'read');
    const { principal } = request;
    return sessions.list(_id, 'session' in principal ? principal.session : null);
  });

  app.delete<OnUser>('/admin/users/:id/sessions', { config: USERS.endSessions }, async (request, reply) => {
    const { _id } = await reach(request, 'delete');
    await sessions.endAll(_id, 'revoked', stampOf(request));
    return reply.code(204).send();
  });

  app.delete<OnSession>('/admin/users/:id/sessions/:session', { config: USERS.endSession }, async (request, reply) => {
    const { _id } = await reach(request, 'delete');
    if (!(await sessions.end(request.params.session, _id, 'revoked', stampOf(request)))) {
      throw new MillraceError('document-not-found', 'There is no such session');
    }
    return reply.code(204).send();
  });
}

/** Owners are the business of owners: an admin could make itself one otherwise, and so could anybody in development. */
function requireOwnerFor(principal: Principal, kind: User['kind']): void {
  if (kind === 'user' || (principal.kind === 'owner' && principal.roles.includes('owner'))) return;
  throw new MillraceError('forbidden', 'Only owners can make and change owners', {
    hint: 'The command `millrace owner` makes one',
  });
}

function requireKnownRoles(kind: User['kind'], roles: readonly string[] | undefined): void {
  const known: readonly string[] = OWNER_ROLES;
  const other = kind === 'owner' ? roles?.find((role) => !known.includes(role)) : undefined;
  if (other === undefined) return;
  throw new MillraceError('invalid-body', `'${other}' is not an owner role`, {
    hint: `Known: ${known.join(', ')}`,
    faults: [{ pointer: '/roles', code: 'invalid-body', detail: 'Not a role of owners' }],
  });
}
