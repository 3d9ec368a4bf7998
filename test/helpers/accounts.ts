/** Accounts for tests: made and signed in over HTTP, as users do it. */
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import type { Parts } from '../../src/parts.ts';

let asked = 0;

export const PASSWORD = 'four wooden ships sail';

export interface Account {
  readonly id: string;
  readonly session: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Headers that sign a request. */
  readonly headers: { readonly authorization: string };
}

/** Sends a request from an address of its own. `as` adds a credential; a body is sent as JSON. */
export function ask(
  app: FastifyInstance,
  request: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`,
  send?: object,
  as?: Pick<Account, 'headers'>,
): Promise<LightMyRequestResponse> {
  const [method, url = ''] = request.split(' ');
  const options: InjectOptions = {
    url,
    remoteAddress: `10.${asked >> 16}.${(asked >> 8) & 255}.${asked++ & 255}`,
    headers: { ...as?.headers },
  };
  if (method === 'GET' || method === 'POST' || method === 'PUT' || method === 'PATCH' || method === 'DELETE') {
    options.method = method;
  }
  if (send !== undefined) options.payload = send;
  return app.inject(options);
}

/** Makes an account and signs it in. */
export async function signUp(app: FastifyInstance, username: string, extra: object = {}): Promise<Account> {
  return toAccount(await ask(app, 'POST /auth/register', { username, password: PASSWORD, ...extra }));
}

/** Signs in. */
export async function signIn(app: FastifyInstance, username: string, password = PASSWORD): Promise<Account> {
  return toAccount(await ask(app, 'POST /auth/login', { username, password }));
}

/** Makes an owner with these roles and signs it in. */
export async function signInOwner(
  app: FastifyInstance,
  { auth }: Pick<Parts, 'auth'>,
  roles: readonly string[] = ['owner'],
): Promise<Account> {
  const email = `${roles.join('-')}@example.org`;
  await auth.users.create({ kind: 'owner', email, password: PASSWORD, roles }, { by: null, request: null });
  return signIn(app, email);
}

/** Reads the answer to a sign-in. */
export function toAccount(answer: LightMyRequestResponse): Account {
  if (answer.statusCode >= 300) throw new Error(`${answer.statusCode}: ${answer.body}`);
  const { user, accessToken, refreshToken } = answer.json();
  const { sid } = JSON.parse(Buffer.from(accessToken.split('.')[1], 'base64url').toString());
  const headers = { authorization: `Bearer ${accessToken}` };
  return { id: user?.id ?? '', session: sid, accessToken, refreshToken, headers };
}
