/**
 * What the policies decide about one document, and which policy decides, to test policies before they affect clients.
 * It uses the same Scopes and rules as real requests.
 */
import type { Document } from 'mongodb';
import type { Principal } from '../../auth/identity/principal.ts';
import { childFieldTree, type FieldTree, FULL_FIELD_TREE } from '../../query/evaluate/field-tree.ts';
import { appendPathField, clientPath } from '../../query/field-paths.ts';
import type { Policies } from '../policies.ts';
import { type Grant, type PolicyAction, type Resource, readScopeOf } from '../scope.ts';
import { grantsForDocument, visibleFieldTree } from '../scope-filter.ts';
import { findForbiddenField, grantsAllowingChange, valuesSetByPolicies, writableFieldTree } from '../write-grants.ts';

export interface SimulatedRequest {
  readonly principal: Principal;
  readonly action: PolicyAction;
  readonly resource: Resource;
  /** The document (for an update, the new state); null tests the collection as a whole. */
  readonly document: Document | null;
  /** For an update, the old state; null if it is the same as the new one. */
  readonly before: Document | null;
}

export interface SimulationResult {
  readonly decision: 'allow' | 'deny';
  /** Id of the policy that decides; null if none applies, and for administrators, who need none. */
  readonly policy: string | null;
  /** The rules for fields; null when it is denied. */
  readonly fields: { readonly read: readonly string[]; readonly write: readonly string[] } | null;
  /** The reason, where the policy alone does not explain the result. */
  readonly reason?: string;
}

/** @throws MillraceError `policies-unavailable` */
export function simulateRequest(policies: Policies, query: SimulatedRequest): SimulationResult {
  const { principal, action, resource, document } = query;
  const scope = policies.find(principal, action, resource);
  const denied = (reason?: string): SimulationResult => ({
    decision: 'deny',
    policy: policies.findDenyingPolicy(principal, action, resource, document),
    fields: null,
    ...(reason === undefined ? {} : { reason }),
  });
  if (scope === null) return denied();
  const reader = readScopeOf(scope);
  const allowed = (grants: readonly Grant[], seen: FieldTree | null): SimulationResult => ({
    decision: 'allow',
    policy: grants[0]?.policy ?? null,
    fields: { read: rulesOf(seen), write: scope.action === 'read' ? [] : rulesOf(writableFieldTree(grants)) },
    ...(principal.kind === 'admin' ? { reason: 'Administrators need no policy' } : {}),
  });
  const seenOf = (one: Document) => (reader === null ? null : visibleFieldTree(reader, one));
  if (document === null) return allowed(scope.grants, null);
  if (action !== 'create' && action !== 'update') {
    const grants = grantsForDocument(scope, document);
    return grants.length === 0 ? denied() : allowed(grants, seenOf(document));
  }
  const before = action === 'update' ? (query.before ?? document) : null;
  const reached = before === null ? null : grantsForDocument(scope, before);
  const set = valuesSetByPolicies(reached ?? scope.grants);
  const after = { ...document, ...Object.fromEntries(set) };
  const grants = grantsAllowingChange(reached, grantsForDocument(scope, after));
  if (grants.length === 0)
    return denied(
      (reached ?? scope.grants).length > 0 ? 'The document would be out of reach after the change' : undefined,
    );
  const field = findForbiddenField(before ?? {}, after, writableFieldTree(grants), set);
  if (field !== null) return { ...denied(`The field '${clientPath(field)}' must not be set`), policy: null };
  return allowed(grants, seenOf(after));
}

/** The tree as rules that a policy could have. */
function rulesOf(tree: FieldTree | null): readonly string[] {
  if (tree === null) return [];
  return tree === FULL_FIELD_TREE ? ['*'] : namesIn(tree, '').filter((rule) => !/^-?_(id|meta)$/.test(rule));
}

function namesIn(tree: FieldTree, above: string): string[] {
  const own = [...tree.fields.keys()].flatMap((name) => {
    const child = childFieldTree(tree, name);
    const path = appendPathField(above, name);
    return child.fields.size > 0 ? namesIn(child, path) : [`${child.rest ? '' : '-'}${path}`];
  });
  return tree.rest ? [above === '' ? '*' : `${above}.*`, ...own] : own;
}
