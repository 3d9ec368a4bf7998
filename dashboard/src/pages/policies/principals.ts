/** Principals of the matrix and of the tester: how they are named in addresses and asked about. */
import type { Policy, SavedPolicy } from './parts/policies.ts';

/** A principal as `/admin/policies/test` takes it. */
export interface TrialPrincipal {
  readonly kind: 'anonymous' | 'user' | 'key' | 'owner' | 'function';
  readonly id?: string;
  readonly roles?: readonly string[];
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly collections?: readonly string[];
  readonly actions?: readonly string[];
}

export interface NamedPrincipal {
  /** As `Millrace-As` names it, and `authenticated` for a user without roles. */
  readonly name: string;
  readonly title: string;
  readonly trial: TrialPrincipal;
}

/** Anonymous, a user without roles, and every role that a policy names. */
export function commonPrincipals(policies: readonly Policy[]): readonly NamedPrincipal[] {
  const roles = [...new Set(policies.flatMap(({ principals }) => principals?.roles ?? []))].sort();
  return ['anonymous', 'authenticated', ...roles.map((role) => `role:${role}`)].flatMap((name) => {
    const found = principalOf(name);
    return found === null ? [] : [found];
  });
}

/** Null for accounts and keys, which have to be read first. */
export function principalOf(name: string): NamedPrincipal | null {
  if (name === 'anonymous') return { name, title: 'Anonymous', trial: { kind: 'anonymous' } };
  if (name === 'authenticated') return { name, title: 'Signed in', trial: { kind: 'user', id: 'authenticated' } };
  const [, role] = /^role:(.+)$/s.exec(name) ?? [];
  // A role is looked at as a user that has no other one, as the server does it.
  return role === undefined ? null : { name, title: role, trial: { kind: 'user', id: name, roles: [role] } };
}

/** True if the policy is for this principal, does this action, and has this place. Its condition is not looked at. */
export function speaksOf(
  policy: SavedPolicy,
  { kind, id, roles = [] }: TrialPrincipal,
  action: string,
  place: string,
): boolean {
  const { collections, actions, principals } = policy;
  const isOther = place === 'files' || place === 'functions' || place === 'webhooks';
  if (!collections.includes(place) && (isOther || !collections.includes('*'))) return false;
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
