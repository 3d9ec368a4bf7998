/** Users over HTTP for administrators. */
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { LIST_ERRORS, LIST_PARAMETERS, listResponse, parseListQuery } from '../../openapi/list-query.ts';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { idParameter, queryParameter } from '../../openapi/parameters.ts';
import { arraySchema } from '../../openapi/schema.ts';
import { createAdminScopeGuard } from '../../policies/admin-scope-guard.ts';
import type { Policies } from '../../policies/policies.ts';
import { toUserView } from '../identity/user.ts';
import { toIdentityViews } from '../users/identities.ts';
import type { ManagedUsers } from './managed-users.ts';
import { PASSKEYS_SHAPE } from './passkey-routes.ts';
import { requireMetadataSize } from './request-helpers.ts';
import { CREATE_USER_BODY, UPDATE_USER_BODY } from './request-schemas.ts';
import { IDENTITY_SHAPE, SESSION_SHAPE, USER_INPUT_ERRORS, USER_SHAPE } from './response-schemas.ts';

const tag = 'admin';
const ONE = [idParameter('id', 'the account', 'userId')];

const USER_OPERATIONS = {
  list: declareOperation({
    id: 'listUsers',
    tag,
    summary: 'List users',
    parameters: [
      ...LIST_PARAMETERS,
      queryParameter('kind', 'Only users of this kind.', { enum: ['user', 'admin'] }),
      queryParameter('search', 'Prefix of the user name or the e-mail address, or the whole id.'),
    ],
    responses: listResponse(USER_SHAPE),
    errors: LIST_ERRORS,
  }),
  create: declareOperation({
    id: 'createUser',
    tag,
    summary: 'Create a user',
    body: jsonBody(CREATE_USER_BODY),
    responses: jsonResponse('Made.', USER_SHAPE, 201, ['Location']),
    errors: [...VALIDATION_ERRORS, ...USER_INPUT_ERRORS, 'reauthentication-required'],
  }),
  get: declareOperation({
    id: 'getUser',
    tag,
    summary: 'Get a user',
    parameters: ONE,
    responses: jsonResponse('The user.', USER_SHAPE),
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
  change: declareOperation({
    id: 'updateUser',
    tag,
    summary: 'Change the rights of a user',
    parameters: ONE,
    body: jsonBody(UPDATE_USER_BODY),
    responses: jsonResponse('The changed user.', USER_SHAPE),
    errors: [...VALIDATION_ERRORS, 'reauthentication-required', 'user-not-found', 'last-owner'],
  }),
  remove: declareOperation({
    id: 'deleteUser',
    tag,
    summary: 'Delete a user',
    parameters: ONE,
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'reauthentication-required', 'user-not-found', 'last-owner'],
  }),
  identities: declareOperation({
    id: 'listUserIdentities',
    tag,
    summary: 'List the identities of a user',
    parameters: ONE,
    responses: jsonResponse('The identities, oldest first.', arraySchema(IDENTITY_SHAPE)),
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
  removeFactor: declareOperation({
    id: 'resetUserMfa',
    tag,
    summary: 'Remove the second factor of a user',
    description: 'For a user who has lost the device and the recovery codes.',
    parameters: ONE,
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'reauthentication-required', 'user-not-found', 'mfa-not-enrolled'],
  }),
  passkeys: declareOperation({
    id: 'listUserPasskeys',
    tag,
    summary: 'List the passkeys of a user',
    parameters: ONE,
    responses: jsonResponse('The passkeys, oldest first.', PASSKEYS_SHAPE),
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
  removePasskeys: declareOperation({
    id: 'deleteUserPasskeys',
    tag,
    summary: 'Remove all passkeys of a user',
    description: 'For a user who has lost the devices.',
    parameters: ONE,
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'reauthentication-required', 'user-not-found'],
  }),
  sessions: declareOperation({
    id: 'listUserSessions',
    tag,
    summary: 'List the sessions of a user',
    parameters: ONE,
    responses: jsonResponse('The sessions, oldest first.', arraySchema(SESSION_SHAPE)),
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
  endSessions: declareOperation({
    id: 'endUserSessions',
    tag,
    summary: 'End all sessions of a user',
    parameters: ONE,
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
  endSession: declareOperation({
    id: 'endUserSession',
    tag,
    summary: 'End one session of a user',
    parameters: [...ONE, idParameter('session', 'the session', 'userSessionId')],
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found', 'session-not-found'],
  }),
};

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
    const { limit, cursor, parameterValue } = parseListQuery(request, 'kind', 'search');
    const kind = parameterValue('kind');
    if (kind !== null && kind !== 'user' && kind !== 'admin') {
      throw new MillraceError('invalid-parameter', "The parameter 'kind' must be user or admin");
    }
    const found = await users.list(scope, { kind, search: parameterValue('search') }, cursor, limit + 1);
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
