/**
 * What owners, the accounts that administer this installation, may do by their roles: they need no policies. Pure. Not
 * here: all other principals (evaluation.ts).
 */
import type { Action, OwnerPrincipal, OwnerRole } from '../auth/identity/principal.ts';

/** The place of other accounts, keys and settings: not for the role that only builds. */
const ACCOUNTS = 'admin:accounts';

const MAY: Readonly<Record<OwnerRole, (action: Action, place: string) => boolean>> = {
  owner: () => true,
  admin: () => true,
  developer: (_action, place) => place !== ACCOUNTS,
  viewer: (action, place) => action === 'read' && place !== ACCOUNTS,
};

/** True if one of the roles allows this. */
export function ownerMay({ roles }: OwnerPrincipal, action: Action, place: string): boolean {
  return roles.some((role) => Object.hasOwn(MAY, role) && MAY[role](action, place));
}
