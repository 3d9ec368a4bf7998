/**
 * Finds conditions that can never be true: in one policy alone, and in one policy together with the others. Each is
 * reported with its place, because a policy without effect is one that its owner misunderstood. Pure.
 */
import type { Fault } from '../kernel/errors.ts';
import { everything } from '../query/filter.ts';
import type { Policy } from './policy.ts';

/** Faults of one policy by itself. */
export function contradictionsOf({ json, actions, collections, set, namesUser }: Policy): Fault[] {
  const faults: Fault[] = [];
  const fault = (pointer: string, detail: string) => faults.push({ pointer, code: 'invalid-policy', detail });
  const { fields, effect, principals } = json;
  if (effect === 'deny' && fields !== undefined)
    fault('/fields', "A deny is about whole documents: it cannot have 'fields'");
  if (effect === 'deny' && set.size > 0) fault('/set', "A deny cannot have 'set'");
  const writes = actions.has('create') || actions.has('update');
  if (fields?.read !== undefined && !actions.has('get'))
    fault('/fields/read', "'fields.read' has no effect without the action 'read'");
  if (fields?.write !== undefined && !writes)
    fault('/fields/write', "'fields.write' has no effect without the action 'create' or 'update'");
  if (set.size > 0 && !writes) fault('/set', "'set' has no effect without the action 'create' or 'update'");
  if (collections.has('files') && (set.size > 0 || fields?.write !== undefined))
    fault(
      '/collections',
      "Members of files are set by the server: 'set' and 'fields.write' have no effect for 'files'",
    );
  if (json.actions.includes('get') && (collections.size > 1 || !collections.has('files')))
    fault('/actions', "The action 'get' is only for the place 'files'");
  if (collections.has('functions') !== actions.has('call'))
    fault('/actions', "The action 'call' and the place 'functions' belong together");
  if (collections.has('webhooks') && (json.where !== undefined || fields !== undefined || set.size > 0))
    fault(
      '/collections',
      "'where', 'fields' and 'set' have no effect for 'webhooks': each client reaches the endpoints that it made itself",
    );
  const onlyAnonymous = principals?.anonymous === true && Object.keys(principals).length === 1;
  if (onlyAnonymous && namesUser)
    fault('/principals', 'Anonymous clients have no $user: the policy would match nothing or, as a deny, everything');
  const asks = new Map<string, unknown>(Object.entries(json.where ?? {}));
  for (const [name, value] of Object.entries(json.set ?? {})) {
    const asked = asks.has(name) ? asks.get(name) : value;
    if (isScalar(asked) && isScalar(value) && asked !== value)
      fault(`/set/${name}`, `'set' gives '${name}' another value than 'where' asks for`);
  }
  return faults;
}

const isScalar = (value: unknown): boolean => value === null || typeof value !== 'object';

/** The policy because of which an allow has no effect, or null. */
export function overruledBy(policy: Policy, others: readonly Policy[]): Policy | null {
  if (policy.effect === 'deny') return null;
  return others.find((other) => other.effect === 'deny' && overrules(other, policy)) ?? null;
}

/** True if a deny takes away all that an allow gives. */
function overrules(deny: Policy, allow: Policy): boolean {
  if (deny.where !== everything || (deny.mode !== null && deny.mode !== allow.mode)) return false;
  const places = [...allow.collections].every(
    (name) =>
      deny.collections.has(name) || (deny.collections.has('*') && !['files', 'functions', 'webhooks'].includes(name)),
  );
  const actions = [...allow.actions].every((action) => deny.actions.has(action));
  return places && actions && isAboutAll(deny, allow);
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
