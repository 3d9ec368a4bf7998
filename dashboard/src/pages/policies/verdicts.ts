/** Decisions of the server about many cases at once, for the matrix. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { request } from '../../api/client.ts';
import { useSession } from '../../api/live.ts';
import { ACTIONS_OF, DOCUMENT_ACTIONS, type PolicySet } from './parts/policies.ts';
import { type NamedPrincipal, type SimulatedPrincipal, speaksOf } from './principals.ts';

/** Maximum cases of one request to `/admin/policies/check`. */
const CASES = 1_000;

/** `some`: allowed for documents that meet a condition. */
export type Verdict = 'allow' | 'some' | 'deny';

export interface Cell {
  readonly principal: NamedPrincipal;
  readonly action: string;
  readonly resource: string;
  readonly verdict: Verdict;
}

interface Checked {
  readonly failed: readonly { readonly index: number }[];
}

interface Query {
  readonly principal: NamedPrincipal;
  readonly action: string;
  readonly resource: string;
}

export function actionsOf(resource: string): readonly string[] {
  return ACTIONS_OF[resource] ?? DOCUMENT_ACTIONS;
}

/** One decision for each principal, resource and action. */
export function useVerdicts(set: PolicySet, principals: readonly NamedPrincipal[], resources: readonly string[]) {
  const { state, turn } = useSession();
  return useQuery({
    queryKey: ['verdicts', turn, set.version, principals, resources],
    enabled: state !== 'signed-out' && resources.length > 0,
    placeholderData: keepPreviousData,
    queryFn: async (): Promise<readonly Cell[]> => {
      const queries = resources.flatMap((resource) =>
        actionsOf(resource).flatMap((action) => principals.map((principal) => ({ principal, action, resource }))),
      );
      const denied = await deniedOf(queries);
      return queries.map((query, index) => ({
        ...query,
        verdict: verdictOf(set, query, denied.has(index)),
      }));
    },
  });
}

async function deniedOf(queries: readonly Query[]): Promise<ReadonlySet<number>> {
  const denied = new Set<number>();
  for (let from = 0; from < queries.length; from += CASES) {
    const cases = queries.slice(from, from + CASES).map(({ principal, action, resource }) => ({
      principal: principal.simulation,
      action,
      resource: resource,
      expect: 'allow',
    }));
    const { body } = await request<Checked>('POST', '/admin/policies/check', { body: { cases } });
    for (const { index } of body.failed) denied.add(from + index);
  }
  return denied;
}

/**
 * The server reports whether anything is allowed; conditions of the applying policies show whether it is everything.
 */
function verdictOf({ policies }: PolicySet, query: Query, isDenied: boolean): Verdict {
  if (isDenied) return 'deny';
  const applying = applyingTo(policies, query.principal.simulation, query.action, query.resource);
  const isOpen = applying.some((policy) => policy.effect === 'allow' && isWithoutCondition(policy));
  const isNarrowed = applying.some(({ effect }) => effect === 'deny');
  return isOpen && !isNarrowed ? 'allow' : 'some';
}

/** The policies that apply to a case, whatever their conditions. */
export function applyingTo(
  policies: PolicySet['policies'],
  principal: SimulatedPrincipal,
  action: string,
  resource: string,
): PolicySet['policies'] {
  return policies.filter((policy) => speaksOf(policy, principal, action, resource));
}

function isWithoutCondition({ filter = {} }: { readonly filter?: Readonly<Record<string, unknown>> }): boolean {
  return Object.keys(filter).length === 0;
}
