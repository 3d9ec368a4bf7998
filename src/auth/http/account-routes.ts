/**
 * The HTTP face of the caller's own account: its data, sessions, password, and tickets. A change of the address or the
 * password needs the present password. Registered where credentials are checked. Not here: checking that password
 * (sign-in/sign-in.ts), and other accounts (admin/).
 */
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '../../kernel/errors.ts';
import { checked } from '../../kernel/parse-body.ts';
import type { Users } from '../accounts/users.ts';
import type { Authenticator } from '../authenticator.ts';
import type { Factors } from '../factors/factors.ts';
import { type KeyPrincipal, stampBy } from '../identity/principal.ts';
import { foldName, toShown } from '../identity/user.ts';
import type { Recovery } from '../sign-in/recovery.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import type { ApiKey } from '../tokens/api-key.ts';
import type { ApiKeys } from '../tokens/api-keys.ts';
import type { Sessions } from '../tokens/sessions.ts';
import { ACCOUNT } from './account-operations.ts';
import { preferredLanguage, refuseParameters, requireAccount, requireSmall, sessionOriginOf } from './requests.ts';
import { CHANGE_ME, CHANGE_PASSWORD, FRESH } from './schema.ts';

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
    return toShown(await users.get(requireAccount(principal).id));
  });

  app.patch('/auth/me', { config: ACCOUNT.changeMe }, async (request) => {
    const { id } = requireAccount(request.principal);
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
    const { id, session } = requireAccount(request.principal);
    const { current, password } = checked(CHANGE_PASSWORD, request.body);
    await signIn.changePassword(await users.get(id), session, current, password, sessionOriginOf(request));
    return reply.code(204).send();
  });

  app.post('/auth/fresh', { config: ACCOUNT.fresh }, async (request, reply) => {
    const { id, session } = requireAccount(request.principal);
    const proof = checked(FRESH, request.body);
    const [user, origin] = [await users.get(id), sessionOriginOf(request)];
    if ('code' in proof) await factors.prove(user, proof.code, origin);
    else await signIn.confirmPassword(user, proof.password, origin);
    await sessions.prove(session);
    return reply.code(204).send();
  });

  app.post('/auth/logout', { config: ACCOUNT.logout }, async (request, reply) => {
    const { id, session } = requireAccount(request.principal);
    await sessions.end(session, id, 'logout', stampBy(request, request.id));
    return reply.code(204).send();
  });

  app.get('/auth/sessions', { config: ACCOUNT.sessions }, async (request) => {
    const { id, session } = requireAccount(request.principal);
    return sessions.list(id, session);
  });

  app.delete<{ Params: { id: string } }>(
    '/auth/sessions/:id',
    { config: ACCOUNT.endSession },
    async (request, reply) => {
      const { id } = requireAccount(request.principal);
      if (!(await sessions.end(request.params.id, id, 'revoked', stampBy(request, request.id)))) {
        throw new MillraceError('document-not-found', 'There is no such session');
      }
      return reply.code(204).send();
    },
  );

  app.post('/auth/ticket', { config: ACCOUNT.ticket }, async (request) => {
    const { principal } = request;
    if (principal.kind === 'anonymous') return authenticator.issueTicket(requireAccount(principal));
    return authenticator.issueTicket(principal);
  });
}

/**
 * What a key may know of itself. Who made it, and when it was used, is for owners.
 * @param kept its data; null when it ended after the request had begun
 */
function toOwnKey({ id, roles, collections, actions, expiresAt }: KeyPrincipal, kept: Pick<ApiKey, 'name'> | null) {
  const ends = expiresAt === null ? null : new Date(expiresAt).toISOString();
  return { kind: 'key', id, name: kept?.name ?? null, roles, collections, actions, expiresAt: ends };
}
