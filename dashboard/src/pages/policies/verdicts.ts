/** Verdicts of the server about many questions at once, for the matrix. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { request } from '../../api/client.ts';
import { useSession } from '../../api/live.ts';
import { ACTIONS_OF, DOCUMENT_ACTIONS, type PolicySet } from './parts/policies.ts';
import { type NamedPrincipal, speaksOf, type TrialPrincipal } from './principals.ts';

/** The most cases that `/admin/policies/check` takes. */
const CASES = 1_000;

/** `some`: allowed for documents that meet a condition. */
export type Verdict = 'allow' | 'some' | 'deny';

export interface Cell {
  readonly principal: NamedPrincipal;
  readonly action: string;
  readonly place: string;
  readonly verdict: Verdict;
}

interface Checked {
  readonly failed: readonly { readonly index: number }[];
}

interface Question {
  readonly principal: NamedPrincipal;
  readonly action: string;
  readonly place: string;
}

export function actionsOf(place: string): readonly string[] {
  return ACTIONS_OF[place] ?? DOCUMENT_ACTIONS;
}

/** One verdict for each principal, place and action. */
export function useVerdicts(set: PolicySet, principals: readonly NamedPrincipal[], places: readonly string[]) {
  const { state, turn } = useSession();
  return useQuery({
    queryKey: ['verdicts', turn, set.version, principals, places],
    enabled: state !== 'asked' && places.length > 0,
    placeholderData: keepPreviousData,
    queryFn: async (): Promise<readonly Cell[]> => {
      const questions = places.flatMap((place) =>
        actionsOf(place).flatMap((action) => principals.map((principal) => ({ principal, action, place }))),
      );
      const denied = await deniedOf(questions);
      return questions.map((question, index) => ({
        ...question,
        verdict: verdictOf(set, question, denied.has(index)),
      }));
    },
  });
}

async function deniedOf(questions: readonly Question[]): Promise<ReadonlySet<number>> {
  const denied = new Set<number>();
  for (let from = 0; from < questions.length; from += CASES) {
    const cases = questions.slice(from, from + CASES).map(({ principal, action, place }) => ({
      principal: principal.trial,
      action,
      collection: place,
      expect: 'allow',
    }));
    const { body } = await request<Checked>('POST', '/admin/policies/check', { body: { cases } });
    for (const { index } of body.failed) denied.add(from + index);
  }
  return denied;
}

/** The server says whether anything is allowed; conditions of the policies that apply say whether it is everything. */
function verdictOf({ policies }: PolicySet, question: Question, isDenied: boolean): Verdict {
  if (isDenied) return 'deny';
  const applying = applyingTo(policies, question.principal.trial, question.action, question.place);
  const isOpen = applying.some((policy) => policy.effect === 'allow' && isWithoutCondition(policy));
  const isNarrowed = applying.some(({ effect }) => effect === 'deny');
  return isOpen && !isNarrowed ? 'allow' : 'some';
}

/** The policies that speak about a question, whatever their conditions say. */
export function applyingTo(
  policies: PolicySet['policies'],
  principal: TrialPrincipal,
  action: string,
  place: string,
): PolicySet['policies'] {
  return policies.filter((policy) => speaksOf(policy, principal, action, place));
}

function isWithoutCondition({ where = {} }: { readonly where?: Readonly<Record<string, unknown>> }): boolean {
  return Object.keys(where).length === 0;
}
