/**
 * All policies of an instance together: parsed, checked against each other, and the initial policy of development mode.
 * Pure.
 */
import { RESOURCE_ACTIONS } from '../auth/identity/principal.ts';
import { type Issue, MillraceError } from '../lib/errors.ts';
import { findContradictionsInPolicy, findOverridingDeny } from './contradictions.ts';
import { invalidPolicy, type Policy, parsePolicy } from './policy.ts';
import type { PolicyJson } from './policy-schema.ts';

const MAX_POLICIES = 500;
/** Bytes of one policy as JSON. */
const MAX_BYTES = 65_536;

/** A policy as it is stored. */
export interface PolicyRecord {
  readonly id: string;
  readonly policy: unknown;
}

/** The policies of one version. */
export interface PolicySet {
  /** In the order of their ids: if two set the same field, the first one counts. */
  readonly policies: readonly Policy[];
  /** Collections that some policy names; the same policies apply to all others. */
  readonly named: ReadonlySet<string>;
}

export const ALLOW_ALL_POLICY_ID = 'open-in-development';

/** The initial policy of development mode, on one machine: everything is allowed, so that the first request works. */
export const ALLOW_ALL_POLICY: PolicyJson = {
  name: 'Open in development',
  resources: ['*', '_files', '_functions', '_webhooks', '_events', '_admin'],
  actions: [...RESOURCE_ACTIONS],
  effect: 'allow',
  mode: 'development',
};

/**
 * Parses a whole set.
 * @param changed id of the policy that is being saved; JSON Pointers of errors refer to it
 * @throws MillraceError `invalid-policy`, `too-many-policies`
 */
export function toPolicySet(written: readonly PolicyRecord[], changed?: string): PolicySet {
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
        const issues = findContradictionsInPolicy(parsed);
        if (issues.length > 0) throw invalidPolicy(issues);
        return parsed;
      } catch (error) {
        throw id === changed || !(error instanceof MillraceError) ? error : ofPolicy(id, error);
      }
    });
  const causes = policies.flatMap((policy) => issuesBeside(policy, policies));
  if (causes.length > 0) throw invalidPolicy(causes);
  return { policies, named: new Set(policies.flatMap(({ resources: collections }) => [...collections])) };
}

function issuesBeside(policy: Policy, all: readonly Policy[]): Issue[] {
  const issues: Issue[] = [];
  const twin = all.find((other) => other !== policy && other.name === policy.name && other.id < policy.id);
  if (twin !== undefined) {
    const detail = `'${policy.id}' and '${twin.id}' have the same name, '${policy.name}'`;
    issues.push({ pointer: '/name', code: 'invalid-policy', detail });
  }
  const deny = findOverridingDeny(policy, all);
  if (deny !== null) {
    const detail = `'${policy.name}' (${policy.id}) can never allow anything: '${deny.name}' (${deny.id}) denies all of it`;
    issues.push({ pointer: '/effect', code: 'invalid-policy', detail });
  }
  return issues;
}

function ofPolicy(id: string, error: MillraceError): MillraceError {
  const issues = error.issues.map((issue) => ({ ...issue, detail: `Policy '${id}': ${issue.detail}` }));
  return error.with({ message: `Policy '${id}': ${error.message}`, issues });
}
