/** Principals of the matrix and of the simulator: their names in URLs and in requests. */
import type { Policy, SavedPolicy } from './parts/policies.ts';

/** A principal as `/admin/policies/test` accepts it. */
export interface SimulatedPrincipal {
  readonly kind: 'anonymous' | 'user' | 'key' | 'admin' | 'function';
  readonly id?: string;
  readonly roles?: readonly string[];
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly resources?: readonly string[];
  readonly actions?: readonly string[];
}

export interface NamedPrincipal {
  /** As `Millrace-As` names it, and `authenticated` for a user without roles. */
  readonly name: string;
  readonly title: string;
  readonly simulation: SimulatedPrincipal;
}

/** Anonymous, a user without roles, and every role that a policy names. */
export function commonPrincipals(policies: readonly Policy[]): readonly NamedPrincipal[] {
  const roles = [...new Set(policies.flatMap(({ principals }) => principals?.roles ?? []))].sort();
  return ['anonymous', 'authenticated', ...roles.map((role) => `role:${role}`)].flatMap((name) => {
    const found = principalOf(name);
    return found === null ? [] : [found];
  });
}

/** Null for users and keys, which must be read first. */
export function principalOf(name: string): NamedPrincipal | null {
  if (name === 'anonymous') return { name, title: 'Anonymous', simulation: { kind: 'anonymous' } };
  if (name === 'authenticated') return { name, title: 'Signed in', simulation: { kind: 'user', id: 'authenticated' } };
  const [, role] = /^role:(.+)$/s.exec(name) ?? [];
  // A role is treated as a user with only that role, as the server does.
  return role === undefined ? null : { name, title: role, simulation: { kind: 'user', id: name, roles: [role] } };
}

/** True if the policy is for this principal, this action, and this resource. Its condition is not evaluated. */
export function speaksOf(
  policy: SavedPolicy,
  { kind, id, roles = [] }: SimulatedPrincipal,
  action: string,
  resource: string,
): boolean {
  const { resources, actions, principals } = policy;
  const isOther = resource === '_files' || resource === '_functions' || resource === '_webhooks';
  if (!resources.includes(resource) && (isOther || !resources.includes('*'))) return false;
  const including = action === 'read' ? 'subscribe' : action === 'get' ? 'read' : action;
  if (!actions.includes(action) && !actions.includes(including)) return false;
  if (principals === undefined) return true;
  return (
    (principals.anonymous === true && kind === 'anonymous') ||
    (principals.authenticated === true && kind !== 'anonymous') ||
    (principals.roles ?? []).some((role) => roles.includes(role)) ||
    (kind === 'user' && (principals.users ?? []).some((user) => user === id)) ||
    (kind === 'key' && (principals.keys ?? []).some((key) => key === id))
  );
}
