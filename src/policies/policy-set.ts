/**
 * All policies of an installation together: read, checked against each other, and the policy that development mode
 * begins with. Pure. Not here: what they grant to a principal (evaluation.ts) and where they are kept (policy-book.ts).
 */
import { ACTIONS } from '../auth/identity/principal.ts';
import { type Fault, MillraceError } from '../kernel/errors.ts';
import { contradictionsOf, overruledBy } from './contradictions.ts';
import { invalidPolicy, type Policy, parsePolicy } from './policy.ts';
import type { PolicyJson } from './policy-schema.ts';

const MAX_POLICIES = 500;
/** Bytes of one policy as JSON. */
const MAX_BYTES = 65_536;

/** A policy as it is kept. */
export interface WrittenPolicy {
  readonly id: string;
  readonly policy: unknown;
}

/** The policies of one version. */
export interface PolicySet {
  /** In the order of their ids: if two set the same member, the first one counts. */
  readonly policies: readonly Policy[];
  /** Collections that some policy names; the same policies apply to all others. */
  readonly named: ReadonlySet<string>;
}

export const OPEN_ID = 'open-in-development';

/** The policy that makes the first request work: in development mode, on one machine, everything is allowed. */
export const OPEN: PolicyJson = {
  name: 'Open in development',
  collections: ['*', 'files', 'functions', 'webhooks', 'events', 'admin'],
  actions: [...ACTIONS],
  effect: 'allow',
  mode: 'development',
};

/**
 * Reads a whole set.
 * @param changed id of the policy that is being saved; faults name places in that policy
 * @throws MillraceError `invalid-policy`, `too-many-policies`
 */
export function toPolicySet(written: readonly WrittenPolicy[], changed?: string): PolicySet {
  if (written.length > MAX_POLICIES) {
    throw new MillraceError('too-many-policies', `There can be at most ${MAX_POLICIES} policies`);
  }
  const policies = written
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id, policy }) => {
      try {
        if (JSON.stringify(policy).length > MAX_BYTES) {
          throw invalidPolicy([{ pointer: '', code: 'invalid-policy', detail: `It has more than ${MAX_BYTES} bytes` }]);
        }
        const parsed = parsePolicy(id, policy);
        const faults = contradictionsOf(parsed);
        if (faults.length > 0) throw invalidPolicy(faults);
        return parsed;
      } catch (error) {
        throw id === changed || !(error instanceof MillraceError) ? error : ofPolicy(id, error);
      }
    });
  const faults = policies.flatMap((policy) => faultsBeside(policy, policies));
  if (faults.length > 0) throw invalidPolicy(faults);
  return { policies, named: new Set(policies.flatMap(({ collections }) => [...collections])) };
}

function faultsBeside(policy: Policy, all: readonly Policy[]): Fault[] {
  const faults: Fault[] = [];
  const twin = all.find((other) => other !== policy && other.name === policy.name && other.id < policy.id);
  if (twin !== undefined) {
    const detail = `'${policy.id}' and '${twin.id}' have the same name, '${policy.name}'`;
    faults.push({ pointer: '/name', code: 'invalid-policy', detail });
  }
  const deny = overruledBy(policy, all);
  if (deny !== null) {
    const detail = `'${policy.name}' (${policy.id}) can never allow anything: '${deny.name}' (${deny.id}) denies all of it`;
    faults.push({ pointer: '/effect', code: 'invalid-policy', detail });
  }
  return faults;
}

function ofPolicy(id: string, error: MillraceError): MillraceError {
  const faults = error.faults.map((fault) => ({ ...fault, detail: `Policy '${id}': ${fault.detail}` }));
  return error.with({ message: `Policy '${id}': ${error.message}`, faults });
}
