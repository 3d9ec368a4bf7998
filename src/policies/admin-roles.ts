/** What administrators may do by their roles: they need no policies. Pure. */
import type { AdminPrincipal, AdminRole, ResourceAction } from '../auth/identity/principal.ts';
import type { Resource } from './scope.ts';

/** The resource of other users, keys and settings: not for the role that only builds. */
const USERS: Resource = '_admin:accounts';

const MAY: Readonly<Record<AdminRole, (action: ResourceAction, resource: string) => boolean>> = {
  owner: () => true,
  manager: () => true,
  developer: (_action, resource) => resource !== USERS,
  viewer: (action, resource) => action === 'read' && resource !== USERS,
};

/** True if one of the roles allows this. */
export function isAdminAllowed({ roles }: AdminPrincipal, action: ResourceAction, resource: string): boolean {
  return roles.some((role) => Object.hasOwn(MAY, role) && MAY[role](action, resource));
}
