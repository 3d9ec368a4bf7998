/** Users for tests: created and signed in over HTTP, like real users. */
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import type { Services } from '../../src/services.ts';

let requested = 0;

export const PASSWORD = 'four wooden ships sail';

export interface Account {
  readonly id: string;
  readonly session: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Headers that authenticate a request. */
  readonly headers: { readonly authorization: string };
}

/** Sends a request from an IP address of its own. `as` adds a credential; a body is sent as JSON. */
export function ask(
  app: FastifyInstance,
  request: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`,
  send?: object,
  as?: Pick<Account, 'headers'>,
): Promise<LightMyRequestResponse> {
  const [method, url = ''] = request.split(' ');
  const options: InjectOptions = {
    url,
    remoteAddress: `10.${requested >> 16}.${(requested >> 8) & 255}.${requested++ & 255}`,
    headers: { ...as?.headers },
  };
  if (method === 'GET' || method === 'POST' || method === 'PUT' || method === 'PATCH' || method === 'DELETE') {
    options.method = method;
  }
  if (send !== undefined) options.payload = send;
  return app.inject(options);
}

/** Creates a user and signs in. */
export async function signUp(app: FastifyInstance, username: string, extra: object = {}): Promise<Account> {
  return toUser(await ask(app, 'POST /auth/register', { username, password: PASSWORD, ...extra }));
}

/** Signs in. */
export async function signIn(app: FastifyInstance, username: string, password = PASSWORD): Promise<Account> {
  return toUser(await ask(app, 'POST /auth/login', { username, password }));
}

/** Creates an administrator with these roles and signs in. */
export async function signInAdmin(
  app: FastifyInstance,
  { auth }: Pick<Services, 'auth'>,
  roles: readonly string[] = ['owner'],
): Promise<Account> {
  const email = `${roles.join('-')}@example.org`;
  await auth.users.create({ kind: 'admin', email, password: PASSWORD, roles }, { by: null, request: null });
  return signIn(app, email);
}

/** Reads the response to a sign-in. */
export function toUser(response: LightMyRequestResponse): Account {
  if (response.statusCode >= 300) throw new Error(`${response.statusCode}: ${response.body}`);
  const { user, accessToken, refreshToken } = response.json();
  const { sid } = JSON.parse(Buffer.from(accessToken.split('.')[1], 'base64url').toString());
  const headers = { authorization: `Bearer ${accessToken}` };
  return { id: user?.id ?? '', session: sid, accessToken, refreshToken, headers };
}
