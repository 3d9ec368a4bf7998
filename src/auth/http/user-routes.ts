/**
 * Routes of the caller's own user: its data, sessions, password, and tickets. A change of the e-mail address or the
 * password requires the current password. Registered where credentials are checked.
 */
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '../../lib/errors.ts';
import { checked } from '../../lib/parse-body.ts';
import type { Authenticator } from '../authenticator.ts';
import { type KeyPrincipal, stampBy } from '../identity/principal.ts';
import { foldName, toShown } from '../identity/user.ts';
import type { Factors } from '../mfa/totp-factor.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Recovery } from '../sign-in/email-verification.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import type { ApiKey } from '../tokens/api-key.ts';
import type { ApiKeys } from '../tokens/api-keys.ts';
import type { Users } from '../users/users.ts';
import { preferredLanguage, refuseParameters, requireSmall, requireUser, sessionOriginOf } from './request-context.ts';
import { CHANGE_ME, CHANGE_PASSWORD, FRESH } from './request-schemas.ts';
import { ACCOUNT } from './user-openapi.ts';

export interface AccountRoutesOptions {
  readonly authenticator: Authenticator;
  readonly signIn: SignIn;
  readonly recovery: Recovery;
  readonly sessions: Sessions;
  readonly users: Users;
  readonly factors: Factors;
  readonly keys: Pick<ApiKeys, 'current'>;
}

export async function accountRoutes(app: FastifyInstance, options: AccountRoutesOptions): Promise<void> {
  const { authenticator, signIn, recovery, sessions, users, factors, keys } = options;
  refuseParameters(app);

  app.get('/auth/me', { config: ACCOUNT.me }, async (request) => {
    const { principal } = request;
    if (principal.kind === 'key') return toOwnKey(principal, await keys.current(principal.id));
    return toShown(await users.get(requireUser(principal).id));
  });

  app.patch('/auth/me', { config: ACCOUNT.changeMe }, async (request) => {
    const { id } = requireUser(request.principal);
    const { email, password, ...change } = checked(CHANGE_ME, request.body);
    requireSmall('profile', change.profile);
    const user = await users.get(id);
    if (email !== undefined && !(user.emailVerified && foldName(email) === foldName(user.email ?? ''))) {
      await signIn.confirmPassword(user, password ?? '', sessionOriginOf(request));
      await recovery.sendVerification(user, email, preferredLanguage(request));
    }
    return toShown(
      Object.keys(change).length > 0 ? await users.change(id, change, stampBy(request, request.id)) : user,
    );
  });

  app.post('/auth/password', { config: ACCOUNT.changePassword }, async (request, reply) => {
    const { id, session } = requireUser(request.principal);
    const { current, password } = checked(CHANGE_PASSWORD, request.body);
    await signIn.changePassword(await users.get(id), session, current, password, sessionOriginOf(request));
    return reply.code(204).send();
  });

  app.post('/auth/reauthenticate', { config: ACCOUNT.reauthentication }, async (request, reply) => {
    const { id, session } = requireUser(request.principal);
    const proof = checked(FRESH, request.body);
    const [user, origin] = [await users.get(id), sessionOriginOf(request)];
    if ('code' in proof) await factors.prove(user, proof.code, origin);
    else await signIn.confirmPassword(user, proof.password, origin);
    await sessions.prove(session);
    return reply.code(204).send();
  });

  app.post('/auth/logout', { config: ACCOUNT.logout }, async (request, reply) => {
    const { id, session } = requireUser(request.principal);
    await sessions.end(session, id, 'logout', stampBy(request, request.id));
    return reply.code(204).send();
  });

  app.get('/auth/sessions', { config: ACCOUNT.sessions }, async (request) => {
    const { id, session } = requireUser(request.principal);
    return sessions.list(id, session);
  });

  app.delete<{ Params: { id: string } }>(
    '/auth/sessions/:id',
    { config: ACCOUNT.endSession },
    async (request, reply) => {
      const { id } = requireUser(request.principal);
      if (!(await sessions.end(request.params.id, id, 'revoked', stampBy(request, request.id)))) {
        throw new MillraceError('session-not-found', 'There is no such session');
      }
      return reply.code(204).send();
    },
  );

  app.post('/auth/ticket', { config: ACCOUNT.ticket }, async (request) => {
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
