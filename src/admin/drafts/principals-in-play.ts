/**
 * The principals for whom it is worked out what a draft of a policy would change: those that the policies name, those that hold
 * open subscriptions, and those that made the newest events. Owners are none of them, because they need no policies.
 */
import type { Authenticator } from '../../auth/authenticator.ts';
import { ANONYMOUS, actorOf, type Principal } from '../../auth/identity/principal.ts';
import { whomText } from '../../auth/identity/whom.ts';
import { mapInTurns } from '../../kernel/concurrency/pauses.ts';
import { bindingKey } from '../../policies/bindings.ts';
import type { Policy } from '../../policies/policy.ts';

/** Principals that are told apart. */
const MAX_PRINCIPALS = 50;

export interface PlaySources {
  /** The drafted policy, as it is and as it would be. */
  readonly drafted: readonly Policy[];
  readonly others: readonly Policy[];
  readonly subscribers: Iterable<Principal>;
  /** Actors of events as the log names them, such as `user:u1`. */
  readonly actors: readonly string[];
}

export interface InPlay {
  readonly principals: readonly Principal[];
  /** False if there are more, or the time was over. */
  readonly complete: boolean;
}

/** @param until when to stop reading accounts, as `performance.now` tells the time */
export async function principalsInPlay(
  { drafted, others, subscribers, actors }: PlaySources,
  authenticator: Pick<Authenticator, 'standing'>,
  until: number,
): Promise<InPlay> {
  const found = new Map<string, Principal>();
  let complete = true;
  const add = (principal: Principal | null): void => {
    if (principal === null || principal.kind === 'owner') return;
    const key = bindingKey(principal);
    if (found.has(key)) return;
    if (found.size < MAX_PRINCIPALS) found.set(key, principal);
    else complete = false;
  };
  const read = async (kind: 'user' | 'key', id: string): Promise<void> => {
    if (found.size >= MAX_PRINCIPALS || performance.now() > until) complete = false;
    else add(await authenticator.standing({ kind, id }));
  };
  add(ANONYMOUS);
  for (const role of rolesOf(drafted)) add(ofRole(role));
  for (const { principals } of drafted) {
    for (const id of principals?.users ?? []) await read('user', id);
    for (const id of principals?.keys ?? []) await read('key', id);
  }
  await mapInTurns(subscribers, add);
  for (const role of rolesOf(others)) add(ofRole(role));
  for (const actor of new Set(actors)) {
    const [, kind, id = ''] = /^(user|key):(.+)$/.exec(actor) ?? [];
    if (kind === 'user' || kind === 'key') await read(kind, id);
  }
  return { principals: [...found.values()], complete };
}

/** The name of a principal, as `Millrace-As` takes it. */
export function nameOf(principal: Principal): string {
  if (principal.kind === 'user' && principal.id.startsWith('role:')) return principal.id;
  return actorOf(principal) ?? 'anonymous';
}

function rolesOf(policies: readonly Policy[]): ReadonlySet<string> {
  return new Set(policies.flatMap(({ principals }) => principals?.roles ?? []));
}

/** A user with this role alone, as owners look as one. */
function ofRole(name: string): Principal {
  const id = whomText({ kind: 'role', id: name });
  return { kind: 'user', id, roles: [name], claims: {}, session: '', expiresAt: Number.MAX_SAFE_INTEGER };
}
