/** Policies for tests: put in the place of the present ones of one app, without saving them. */
import type { Parts } from '../../src/parts.ts';
import { toPolicySet } from '../../src/policies/policy-set.ts';

let made = 0;

/** Makes an owner, from whom on stored policies count in production; nobody can sign in as this one. */
export async function beOwned({ auth, policyBook }: Pick<Parts, 'auth' | 'policyBook'>): Promise<void> {
  const owner = { kind: 'owner', email: 'first@example.org', roles: ['owner'] } as const;
  await auth.users.create(owner, { by: null, request: null });
  await policyBook.reload();
}

/** Puts policies into force in one process; names and ids are given to those that have none. */
export function withPolicies(parts: Parts, policies: readonly object[]): void {
  parts.policies.use(
    toPolicySet(
      policies.map((policy) => {
        made += 1;
        return {
          id: `p${String(made).padStart(9, '0')}`,
          policy: { name: `policy ${made}`, effect: 'allow', ...policy },
        };
      }),
    ),
  );
}
