/**
 * What the policies decide about one document, and which policy decides: to try policies before they affect clients. It
 * uses the same Scopes and rules as real requests. Not here: HTTP (admin/policy-routes.ts).
 */
import type { Document } from 'mongodb';
import type { Principal } from '../../auth/identity/principal.ts';
import { ALL, childOf, type FieldTree } from '../../query/evaluate/field-tree.ts';
import { withMember, writtenPath } from '../../query/paths.ts';
import type { Policies } from '../policies.ts';
import { fieldsFor, grantsFor } from '../reach.ts';
import { type Grant, type NamedAction, type Place, readerOf } from '../scope.ts';
import { allowing, forbiddenMember, settings, writableBy } from '../writing.ts';

export interface TrialQuestion {
  readonly principal: Principal;
  readonly action: NamedAction;
  readonly place: Place;
  /** The document (for an update, the new state); null asks about the collection as a whole. */
  readonly document: Document | null;
  /** For an update, the old state; null if it is the same as the new one. */
  readonly before: Document | null;
}

export interface Verdict {
  readonly verdict: 'allow' | 'deny';
  /** Id of the policy that decides; null if none applies, and for owners, who need none. */
  readonly policy: string | null;
  /** The rules for members; null when it is denied. */
  readonly fields: { readonly read: readonly string[]; readonly write: readonly string[] } | null;
  /** The reason, where the policy alone does not explain the result. */
  readonly reason?: string;
}

/** @throws MillraceError `policies-unavailable` */
export function judgeTrial(policies: Policies, question: TrialQuestion): Verdict {
  const { principal, action, place, document } = question;
  const scope = policies.find(principal, action, place);
  const denied = (reason?: string): Verdict => ({
    verdict: 'deny',
    policy: policies.denying(principal, action, place, document),
    fields: null,
    ...(reason === undefined ? {} : { reason }),
  });
  if (scope === null) return denied();
  const reader = readerOf(scope);
  const allowed = (grants: readonly Grant[], seen: FieldTree | null): Verdict => ({
    verdict: 'allow',
    policy: grants[0]?.policy ?? null,
    fields: { read: rulesOf(seen), write: scope.action === 'read' ? [] : rulesOf(writableBy(grants)) },
    ...(principal.kind === 'owner' ? { reason: 'Owners need no policy' } : {}),
  });
  const seenOf = (one: Document) => (reader === null ? null : fieldsFor(reader, one));
  if (document === null) return allowed(scope.grants, null);
  if (action !== 'create' && action !== 'update') {
    const grants = grantsFor(scope, document);
    return grants.length === 0 ? denied() : allowed(grants, seenOf(document));
  }
  const before = action === 'update' ? (question.before ?? document) : null;
  const reached = before === null ? null : grantsFor(scope, before);
  const set = settings(reached ?? scope.grants);
  const after = { ...document, ...Object.fromEntries(set) };
  const grants = allowing(reached, grantsFor(scope, after));
  if (grants.length === 0)
    return denied(
      (reached ?? scope.grants).length > 0 ? 'The document would be out of reach after the change' : undefined,
    );
  const member = forbiddenMember(before ?? {}, after, writableBy(grants), set);
  if (member !== null) return { ...denied(`The member '${writtenPath(member)}' may not be set`), policy: null };
  return allowed(grants, seenOf(after));
}

/** The tree as rules that a policy could have. */
function rulesOf(tree: FieldTree | null): readonly string[] {
  if (tree === null) return [];
  return tree === ALL ? ['*'] : namesIn(tree, '').filter((rule) => !/^-?_(id|meta)$/.test(rule));
}

function namesIn(tree: FieldTree, above: string): string[] {
  const own = [...tree.members.keys()].flatMap((name) => {
    const child = childOf(tree, name);
    const path = withMember(above, name);
    return child.members.size > 0 ? namesIn(child, path) : [`${child.rest ? '' : '-'}${path}`];
  });
  return tree.rest ? [above === '' ? '*' : `${above}.*`, ...own] : own;
}
