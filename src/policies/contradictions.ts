/**
 * Finds conditions that can never be true, in one policy alone and together with the others. Each is reported with its
 * JSON Pointer, because a policy without effect is one that its administrator misunderstood. Pure.
 */
import type { Issue } from '../lib/errors.ts';
import { matchAllFilter } from '../query/filter.ts';
import type { Policy } from './policy.ts';

/** Errors of one policy by itself. */
export function findContradictionsInPolicy({ json, actions, resources: collections, set, namesUser }: Policy): Issue[] {
  const issues: Issue[] = [];
  const issue = (pointer: string, detail: string) => issues.push({ pointer, code: 'invalid-policy', detail });
  const { fields, effect, principals } = json;
  if (effect === 'deny' && fields !== undefined)
    issue('/fields', "A deny applies to whole documents: it cannot have 'fields'");
  if (effect === 'deny' && set.size > 0) issue('/set', "A deny cannot have 'set'");
  const writes = actions.has('create') || actions.has('update');
  if (fields?.read !== undefined && !actions.has('get'))
    issue('/fields/read', "'fields.read' has no effect without the action 'read'");
  if (fields?.write !== undefined && !writes)
    issue('/fields/write', "'fields.write' has no effect without the action 'create' or 'update'");
  if (set.size > 0 && !writes) issue('/set', "'set' has no effect without the action 'create' or 'update'");
  if (collections.has('_files') && (set.size > 0 || fields?.write !== undefined))
    issue('/resources', "Fields of files are set by the server: 'set' and 'fields.write' have no effect for '_files'");
  if (json.actions.includes('get') && (collections.size > 1 || !collections.has('_files')))
    issue('/actions', "The action 'get' is only for the resource '_files'");
  if (collections.has('_functions') !== actions.has('call'))
    issue('/actions', "The action 'call' and the resource '_functions' belong together");
  if (collections.has('_webhooks') && (json.filter !== undefined || fields !== undefined || set.size > 0))
    issue(
      '/resources',
      "'filter', 'fields' and 'set' have no effect for '_webhooks': each client reaches the endpoints that it created",
    );
  const onlyAnonymous = principals?.anonymous === true && Object.keys(principals).length === 1;
  if (onlyAnonymous && namesUser)
    issue('/principals', 'Anonymous clients have no $user: the policy would match nothing or, as a deny, everything');
  const requests = new Map<string, unknown>(Object.entries(json.filter ?? {}));
  for (const [name, value] of Object.entries(json.set ?? {})) {
    const requested = requests.has(name) ? requests.get(name) : value;
    if (isScalar(requested) && isScalar(value) && requested !== value)
      issue(`/set/${name}`, `'set' gives '${name}' another value than 'filter' requires`);
  }
  return issues;
}

const isScalar = (value: unknown): boolean => value === null || typeof value !== 'object';

/** The deny because of which an allow has no effect, or null. */
export function findOverridingDeny(policy: Policy, others: readonly Policy[]): Policy | null {
  if (policy.effect === 'deny') return null;
  return others.find((other) => other.effect === 'deny' && overrules(other, policy)) ?? null;
}

/** True if a deny covers everything that an allow grants. */
function overrules(deny: Policy, allow: Policy): boolean {
  if (deny.filter !== matchAllFilter || (deny.mode !== null && deny.mode !== allow.mode)) return false;
  const resources = [...allow.resources].every(
    (name) =>
      deny.resources.has(name) || (deny.resources.has('*') && !['_files', '_functions', '_webhooks'].includes(name)),
  );
  const actions = [...allow.actions].every((action) => deny.actions.has(action));
  return resources && actions && isAboutAll(deny, allow);
}

function isAboutAll({ principals: denied }: Policy, { principals: allowed }: Policy): boolean {
  if (denied === undefined) return true;
  if (allowed === undefined) return denied.anonymous === true && denied.authenticated === true;
  const within = (some: readonly string[] = [], all: readonly string[] = []) =>
    denied.authenticated === true || some.every((one) => all.includes(one));
  return (
    (allowed.anonymous !== true || denied.anonymous === true) &&
    (allowed.authenticated !== true || denied.authenticated === true) &&
    within(allowed.roles, denied.roles) &&
    within(allowed.users, denied.users) &&
    within(allowed.keys, denied.keys)
  );
}
