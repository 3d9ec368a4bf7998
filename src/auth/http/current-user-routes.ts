/**
 * Routes of the caller's own user: its data, sessions, password, and tickets. A change of the e-mail address or the
 * password requires the current password. Registered where credentials are checked.
 */
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { idParameter } from '../../openapi/parameters.ts';
import { arraySchema } from '../../openapi/schema.ts';
import type { Authenticator } from '../authenticator.ts';
import { type KeyPrincipal, stampFromPrincipal } from '../identity/principal.ts';
import { normalizeSignInName, toUserView } from '../identity/user.ts';
import type { Factors } from '../mfa/totp-factor.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Recovery } from '../sign-in/account-recovery.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import type { ApiKey } from '../tokens/api-key.ts';
import type { ApiKeys } from '../tokens/api-keys.ts';
import type { Users } from '../users/users.ts';
import {
  preferredLanguage,
  rejectAllQueryParameters,
  requireMetadataSize,
  requireUser,
  sessionOriginOf,
} from './request-helpers.ts';
import { CHANGE_PASSWORD_BODY, REAUTHENTICATE_BODY, UPDATE_CURRENT_USER_BODY } from './request-schemas.ts';
import {
  CURRENT_API_KEY_SHAPE,
  SESSION_SHAPE,
  TICKET_SHAPE,
  USER_INPUT_ERRORS,
  USER_SHAPE,
} from './response-schemas.ts';

const tag = 'auth';

const CURRENT_USER_OPERATIONS = {
  me: declareOperation({
    id: 'getCurrentUser',
    tag,
    summary: 'Get your own user, or the API key of the request',
    responses: jsonResponse('The user; for a key, what it may know of itself.', {
      anyOf: [USER_SHAPE, CURRENT_API_KEY_SHAPE],
    }),
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
  changeMe: declareOperation({
    id: 'updateCurrentUser',
    tag,
    summary: 'Change your own user',
    description: 'A new e-mail address takes effect when the link sent to it has been opened.',
    body: jsonBody(UPDATE_CURRENT_USER_BODY),
    responses: jsonResponse('The changed user.', USER_SHAPE),
    errors: [...VALIDATION_ERRORS, ...USER_INPUT_ERRORS, 'invalid-credentials', 'user-not-found'],
  }),
  changePassword: declareOperation({
    id: 'changePassword',
    tag,
    summary: 'Change your password, and end your other sessions',
    body: jsonBody(CHANGE_PASSWORD_BODY),
    responses: NO_CONTENT_RESPONSE,
    errors: [...VALIDATION_ERRORS, 'weak-password', 'invalid-credentials', 'user-not-found'],
  }),
  reauthentication: declareOperation({
    id: 'reauthenticate',
    tag,
    summary: 'Reauthenticate in this session',
    description:
      'With the password, or with a code of the second factor. The session then counts as recently authenticated for 15 minutes.',
    body: jsonBody(REAUTHENTICATE_BODY),
    responses: NO_CONTENT_RESPONSE,
    errors: [...VALIDATION_ERRORS, 'invalid-credentials', 'user-not-found'],
  }),
  logout: declareOperation({
    id: 'logout',
    tag,
    summary: 'End this session',
    responses: NO_CONTENT_RESPONSE,
    errors: QUERY_PARAMETER_ERRORS,
  }),
  sessions: declareOperation({
    id: 'listSessions',
    tag,
    summary: 'List your sessions',
    responses: jsonResponse('The sessions, oldest first.', arraySchema(SESSION_SHAPE)),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  endSession: declareOperation({
    id: 'endSession',
    tag,
    summary: 'End one of your sessions',
    parameters: [idParameter('id', 'the session', 'sessionId')],
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'session-not-found'],
  }),
  ticket: declareOperation({
    id: 'createTicket',
    tag,
    summary: 'Create a ticket, for requests that cannot have a header',
    responses: jsonResponse('A ticket.', TICKET_SHAPE),
    errors: QUERY_PARAMETER_ERRORS,
  }),
};

export interface CurrentUserRoutesOptions {
  readonly authenticator: Authenticator;
  readonly signIn: SignIn;
  readonly recovery: Recovery;
  readonly sessions: Sessions;
  readonly users: Users;
  readonly factors: Factors;
  readonly keys: Pick<ApiKeys, 'current'>;
}

export async function currentUserRoutes(app: FastifyInstance, options: CurrentUserRoutesOptions): Promise<void> {
  const { authenticator, signIn, recovery, sessions, users, factors, keys } = options;
  rejectAllQueryParameters(app);

  app.get('/auth/me', { config: CURRENT_USER_OPERATIONS.me }, async (request) => {
    const { principal } = request;
    if (principal.kind === 'key') return toOwnKey(principal, await keys.current(principal.id));
    return toUserView(await users.get(requireUser(principal).id));
  });

  app.patch('/auth/me', { config: CURRENT_USER_OPERATIONS.changeMe }, async (request) => {
    const { id } = requireUser(request.principal);
    const { email, password, ...change } = validateBody(UPDATE_CURRENT_USER_BODY, request.body);
    requireMetadataSize('profile', change.profile);
    const user = await users.get(id);
    if (
      email !== undefined &&
      !(user.emailVerified && normalizeSignInName(email) === normalizeSignInName(user.email ?? ''))
    ) {
      await signIn.confirmPassword(user, password ?? '', sessionOriginOf(request));
      await recovery.sendVerification(user, email, preferredLanguage(request));
    }
    return toUserView(
      Object.keys(change).length > 0 ? await users.change(id, change, stampFromPrincipal(request, request.id)) : user,
    );
  });

  app.post('/auth/password', { config: CURRENT_USER_OPERATIONS.changePassword }, async (request, reply) => {
    const { id, session } = requireUser(request.principal);
    const { current, password } = validateBody(CHANGE_PASSWORD_BODY, request.body);
    await signIn.changePassword(await users.get(id), session, current, password, sessionOriginOf(request));
    return reply.code(204).send();
  });

  app.post('/auth/reauthenticate', { config: CURRENT_USER_OPERATIONS.reauthentication }, async (request, reply) => {
    const { id, session } = requireUser(request.principal);
    const proof = validateBody(REAUTHENTICATE_BODY, request.body);
    const [user, origin] = [await users.get(id), sessionOriginOf(request)];
    if ('code' in proof) await factors.verifyCode(user, proof.code, origin);
    else await signIn.confirmPassword(user, proof.password, origin);
    await sessions.recordVerification(session);
    return reply.code(204).send();
  });

  app.post('/auth/logout', { config: CURRENT_USER_OPERATIONS.logout }, async (request, reply) => {
    const { id, session } = requireUser(request.principal);
    await sessions.end(session, id, 'logout', stampFromPrincipal(request, request.id));
    return reply.code(204).send();
  });

  app.get('/auth/sessions', { config: CURRENT_USER_OPERATIONS.sessions }, async (request) => {
    const { id, session } = requireUser(request.principal);
    return sessions.list(id, session);
  });

  app.delete<{ Params: { id: string } }>(
    '/auth/sessions/:id',
    { config: CURRENT_USER_OPERATIONS.endSession },
    async (request, reply) => {
      const { id } = requireUser(request.principal);
      if (!(await sessions.end(request.params.id, id, 'revoked', stampFromPrincipal(request, request.id)))) {
        throw new MillraceError('session-not-found', 'There is no such session');
      }
      return reply.code(204).send();
    },
  );

  app.post('/auth/ticket', { config: CURRENT_USER_OPERATIONS.ticket }, async (request) => {
    const { principal } = request;
    if (principal.kind === 'anonymous') return authenticator.issueTicket(requireUser(principal));
    return authenticator.issueTicket(principal);
  });
}

/**
 * What a key may know of itself. Its creator and last use are for administrators.
 * @param kept its data; null when it ended after the request had begun
 */
function toOwnKey(
  { id, roles, resources: collections, actions, expiresAt }: KeyPrincipal,
  kept: Pick<ApiKey, 'name'> | null,
) {
  const ends = expiresAt === null ? null : new Date(expiresAt).toISOString();
  return { kind: 'key', id, name: kept?.name ?? null, roles, resources: collections, actions, expiresAt: ends };
}
