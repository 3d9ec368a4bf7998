/** Policies for tests: they replace those of one app, without being saved. */
import type { Parts } from '../../src/parts.ts';
import { Policies } from '../../src/policies/policies.ts';
import { toPolicySet } from '../../src/policies/policy-set.ts';

let made = 0;

/** Makes an owner, because in production stored policies count only if there is one. This owner cannot sign in. */
export async function beOwned({ auth, policyBook }: Pick<Parts, 'auth' | 'policyBook'>): Promise<void> {
  const owner = { kind: 'owner', email: 'first@example.org', roles: ['owner'] } as const;
  await auth.users.create(owner, { by: null, request: null });
  await policyBook.reloader.reload();
}

/**
 * Puts policies into force in one process, for good: stored ones, which the process may read again at any time, do not replace
 * them. Policies without a name or an id get one.
 */
export function withPolicies({ policies: inForce }: Parts, policies: readonly object[]): void {
  const set = toPolicySet(
    policies.map((policy) => {
      made += 1;
      return {
        id: `p${String(made).padStart(9, '0')}`,
        policy: { name: `policy ${made}`, effect: 'allow', ...policy },
      };
    }),
  );
  Policies.prototype.use.call(inForce, set);
  inForce.use = () => undefined;
}
