/**
 * What those who run this installation may do by their roles: they pass without policies. Pure. Not here: everybody
 * else (evaluation.ts).
 */
import type { OwnerPrincipal, OwnerRole } from '../auth/identity/principal.ts';
import type { Action } from './scope.ts';

/** Places where the accounts of others, keys and settings are: not for those who only build. */
const ACCOUNTS = 'admin:accounts';

const MAY: Readonly<Record<OwnerRole, (action: Action, place: string) => boolean>> = {
  owner: () => true,
  admin: () => true,
  developer: (_action, place) => place !== ACCOUNTS,
  viewer: (action, place) => action === 'read' && place !== ACCOUNTS,
};

/** Whether one of the roles lets its holder do this. */
export function ownerMay({ roles }: OwnerPrincipal, action: Action, place: string): boolean {
  return roles.some((role) => Object.hasOwn(MAY, role) && MAY[role](action, place));
}
