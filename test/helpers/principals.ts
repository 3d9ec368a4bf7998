/**
 * Principals for tests of rights: each gets a credential that the authenticator of one app accepts without proof. The
 * verification of credentials is tested elsewhere.
 */
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import type { PrincipalRef } from '../../src/auth/authenticator.ts';
import type {
  AdminPrincipal,
  AdminRole,
  AuthenticatedPrincipal,
  FunctionPrincipal,
  KeyPrincipal,
  Principal,
  UserPrincipal,
} from '../../src/auth/identity/principal.ts';
import type { Services } from '../../src/services.ts';

let created = 0;

const expiresAt = Number.MAX_SAFE_INTEGER;

export const user = (
  id: string,
  roles: readonly string[] = [],
  claims: Record<string, unknown> = {},
): UserPrincipal => ({
  kind: 'user',
  id,
  roles,
  claims,
  session: `s-${id}`,
  expiresAt,
});

export const key = (
  id: string,
  limits: Partial<Pick<KeyPrincipal, 'roles' | 'resources' | 'actions'>> = {},
): KeyPrincipal => ({
  kind: 'key',
  id,
  roles: [],
  resources: null,
  actions: null,
  expiresAt: null,
  ...limits,
});

export const owner = (...roles: AdminRole[]): AdminPrincipal => ({
  kind: 'admin',
  id: 'o1',
  roles: roles.length === 0 ? ['owner'] : roles,
  session: 's-o1',
  expiresAt,
});

/** A function that acts as itself. @param id `plugin/name` */
export const acting = (id: string, ...roles: string[]): FunctionPrincipal => ({ kind: 'function', id, roles });

/** Makes the app accept credentials for principals. Returns a function that gives the header for one. */
export function speakingAs(services: Services): (principal: Principal) => Record<string, string> {
  const known = new Map<string, Principal>();
  const headers = new Map<Principal, string>();
  const { authenticator } = services.auth;
  const authenticate = authenticator.authenticate.bind(authenticator);
  const present = authenticator.refreshIgnoringExpiry.bind(authenticator);
  const principalFor = authenticator.principalFor.bind(authenticator);
  Object.assign(authenticator, {
    authenticate: (header: string) => known.get(header) ?? authenticate(header),
    refreshIgnoringExpiry: async (principal: AuthenticatedPrincipal) =>
      headers.has(principal) ? principal : present(principal),
    principalFor: async (name: PrincipalRef) =>
      [...known.values()].find((one) => 'id' in one && one.kind === name.kind && one.id === name.id) ??
      principalFor(name),
  });
  return (principal) => {
    if (principal.kind === 'anonymous') return {};
    const header = headers.get(principal) ?? `Bearer test-${created++}`;
    headers.set(principal, header);
    known.set(header, principal);
    return { authorization: header };
  };
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Sends requests as one principal: `client('PUT /admin/x', body)`. An object is sent as JSON, a text unchanged. */
export type Client = (
  request: `${Method} /${string}`,
  body?: object | string,
  headers?: Record<string, string>,
) => Promise<LightMyRequestResponse>;

/** Creates clients of an app, one for each principal. */
export function clientsOf(app: FastifyInstance, services: Services): (principal: Principal) => Client {
  const speak = speakingAs(services);
  return (principal) => {
    const credential = speak(principal);
    return (request, body, headers = {}) => {
      const [verb = '', url = ''] = request.split(' ');
      const method = (['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const).find((one) => one === verb) ?? 'GET';
      const json = { 'content-type': 'application/json' };
      const sent = body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) };
      return app.inject({
        method,
        url,
        ...sent,
        headers: { ...(body === undefined ? {} : json), ...credential, ...headers },
      });
    };
  };
}
