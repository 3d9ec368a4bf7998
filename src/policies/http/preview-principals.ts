/**
 * The principals for whom a preview computes the effect of a policy: those that the policies name, those with open
 * subscriptions, and the actors of the newest events. Administrators are excluded, because they need no policies.
 */
import type { Authenticator } from '../../auth/authenticator.ts';
import { formatImpersonationTarget } from '../../auth/identity/parse-impersonation-target.ts';
import { ANONYMOUS, type Principal, toActorId } from '../../auth/identity/principal.ts';
import { mapCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import { principalCacheKey } from '../bindings.ts';
import type { Policy } from '../policy.ts';

/** Maximum distinct principals. */
const MAX_PRINCIPALS = 50;

export interface PreviewPrincipalSources {
  /** The policy in the preview, as it is and as it would be. */
  readonly drafted: readonly Policy[];
  readonly others: readonly Policy[];
  readonly subscribers: Iterable<Principal>;
  /** Actors of events as the log names them, such as `user:u1`. */
  readonly actors: readonly string[];
}

export interface PreviewPrincipals {
  readonly principals: readonly Principal[];
  /** False if there are more, or the time was over. */
  readonly complete: boolean;
}

/** @param until when to stop reading users, on the clock of `performance.now` */
export async function collectPreviewPrincipals(
  { drafted, others, subscribers, actors }: PreviewPrincipalSources,
  authenticator: Pick<Authenticator, 'principalFor'>,
  until: number,
): Promise<PreviewPrincipals> {
  const found = new Map<string, Principal>();
  let complete = true;
  const add = (principal: Principal | null): void => {
    if (principal === null || principal.kind === 'admin') return;
    const key = principalCacheKey(principal);
    if (found.has(key)) return;
    if (found.size < MAX_PRINCIPALS) found.set(key, principal);
    else complete = false;
  };
  const read = async (kind: 'user' | 'key', id: string): Promise<void> => {
    if (found.size >= MAX_PRINCIPALS || performance.now() > until) complete = false;
    else add(await authenticator.principalFor({ kind, id }));
  };
  add(ANONYMOUS);
  for (const role of rolesOf(drafted)) add(ofRole(role));
  for (const { principals } of drafted) {
    for (const id of principals?.users ?? []) await read('user', id);
    for (const id of principals?.keys ?? []) await read('key', id);
  }
  await mapCooperatively(subscribers, add);
  for (const role of rolesOf(others)) add(ofRole(role));
  for (const actor of new Set(actors)) {
    const [, kind, id = ''] = /^(user|key):(.+)$/.exec(actor) ?? [];
    if (kind === 'user' || kind === 'key') await read(kind, id);
  }
  return { principals: [...found.values()], complete };
}

/** The name of a principal, in the form of `Millrace-As`. */
export function formatPrincipal(principal: Principal): string {
  if (principal.kind === 'user' && principal.id.startsWith('role:')) return principal.id;
  return toActorId(principal) ?? 'anonymous';
}

function rolesOf(policies: readonly Policy[]): ReadonlySet<string> {
  return new Set(policies.flatMap(({ principals }) => principals?.roles ?? []));
}

/** A user with this role alone, as in the impersonation of a role. */
function ofRole(name: string): Principal {
  const id = formatImpersonationTarget({ kind: 'role', id: name });
  return { kind: 'user', id, roles: [name], claims: {}, session: '', expiresAt: Number.MAX_SAFE_INTEGER };
}
