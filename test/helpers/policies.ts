/** Policies for tests: they replace those of one app, without being stored. */

import { Policies } from '../../src/policies/policies.ts';
import { toPolicySet } from '../../src/policies/policy-set.ts';
import type { Services } from '../../src/services.ts';

let created = 0;

/**
 * Creates an administrator, because in production stored policies count only if there is one. This administrator cannot
 * sign in.
 */
export async function beOwned({ auth, policyRegistry }: Pick<Services, 'auth' | 'policyRegistry'>): Promise<void> {
  const owner = { kind: 'admin', email: 'first@example.org', roles: ['owner'] } as const;
  await auth.users.create(owner, { by: null, request: null });
  await policyRegistry.reloader.reload();
}

/**
 * Enables policies in one process permanently: stored ones, which the process may read again at any time, do not
 * replace them. Policies without a name or an id get one.
 */
export function withPolicies({ policies: activeNow }: Services, policies: readonly object[]): void {
  const set = toPolicySet(
    policies.map((policy) => {
      created += 1;
      return {
        id: `p${String(created).padStart(9, '0')}`,
        policy: { name: `policy ${created}`, effect: 'allow', ...policy },
      };
    }),
  );
  Policies.prototype.use.call(activeNow, set);
  activeNow.use = () => undefined;
}
