/**
 * One policy: read from what an owner wrote, with every fault named by its place, and checked for conditions that can
 * never be true. Pure. Not here: several policies together (policy-set.ts), and what they grant to a principal
 * (evaluation.ts).
 */
import { Check, Errors } from 'typebox/schema';
import { isCollectionName } from '../database/names.ts';
import type { Mode } from '../kernel/config/config.ts';
import { type Fault, MillraceError } from '../kernel/errors.ts';
import { hintFor } from '../kernel/nearest.ts';
import { bind } from '../query/evaluate/bind.ts';
import { affordable } from '../query/evaluate/cost.ts';
import type { FieldTree } from '../query/evaluate/field-tree.ts';
import { type OpenFilter, Variable } from '../query/filter.ts';
import { LIMITS } from '../query/limits.ts';
import type { OpenValue } from '../query/literals.ts';
import { parseFilterJson } from '../query/parse/parse-json.ts';
import { parseFieldRules, SYSTEM_ONLY } from './fields/field-rules.ts';
import { POLICY, type PolicyJson } from './policy-schema.ts';
import type { NamedAction } from './scope.ts';

/** A policy that has been read. */
export interface Policy {
  readonly id: string;
  readonly name: string;
  readonly collections: ReadonlySet<string>;
  /** With `read` always `get`. */
  readonly actions: ReadonlySet<NamedAction>;
  readonly principals: PolicyJson['principals'];
  readonly effect: 'allow' | 'deny';
  readonly where: OpenFilter;
  readonly read: FieldTree;
  readonly write: FieldTree;
  readonly set: ReadonlyMap<string, OpenValue>;
  /** The only mode in which it counts; null means both. */
  readonly mode: Mode | null;
  /** True if its meaning changes with the time. */
  readonly namesNow: boolean;
  /** True if its meaning differs between the principals that it applies to. */
  readonly namesUser: boolean;
  /** As it was written. */
  readonly json: PolicyJson;
}

/** Places that only the policy of development mode may grant. */
const DEVELOPMENT_PLACES: readonly string[] = ['events', 'admin'];
const PLACES: readonly string[] = ['*', 'files', 'functions', 'webhooks', ...DEVELOPMENT_PLACES];

/**
 * Reads a policy.
 * @throws MillraceError `invalid-policy` with all faults
 */
export function parsePolicy(id: string, json: unknown): Policy {
  if (!Check(POLICY, json)) throw invalidPolicy(shapeFaults(json));
  const faults: Fault[] = [];
  const part = <T>(pointer: string, read: () => T, otherwise: T): T => {
    try {
      return read();
    } catch (error) {
      faults.push(...faultsAt(pointer, error));
      return otherwise;
    }
  };
  const policy: Policy = {
    id,
    name: json.name,
    collections: new Set(json.collections),
    actions: new Set(json.actions.flatMap(namedActions)),
    principals: json.principals,
    effect: json.effect,
    where: part('/where', () => readWhere(json.where ?? {}), parseFilterJson({})),
    read: part('/fields/read', () => parseFieldRules(json.fields?.read), SYSTEM_ONLY),
    write: part('/fields/write', () => parseFieldRules(json.fields?.write), SYSTEM_ONLY),
    set: part('/set', () => readSet(json.set ?? {}), new Map()),
    mode: json.mode ?? null,
    namesNow: namesVariable([json.where, json.set], /^\$now/),
    namesUser: namesVariable([json.where, json.set], /^\$user/),
    json,
  };
  json.collections.forEach((name, index) => {
    const detail = placeFault(name, json);
    if (detail !== null) faults.push({ pointer: `/collections/${index}`, code: 'invalid-policy', detail });
  });
  if (faults.length > 0) throw invalidPolicy(faults);
  return policy;
}

export function invalidPolicy(faults: readonly Fault[]): MillraceError {
  const [first] = faults;
  return new MillraceError('invalid-policy', first?.detail ?? 'The policy is not valid', { faults });
}

function namedActions(action: PolicyJson['actions'][number]): NamedAction[] {
  return action === 'read' || action === 'subscribe' ? ['read', 'get'] : [action];
}

function placeFault(name: string, { mode }: PolicyJson): string | null {
  if (DEVELOPMENT_PLACES.includes(name)) {
    return mode === 'development' ? null : `'${name}' is for owners; only a policy with "mode": "development" opens it`;
  }
  if (PLACES.includes(name) || isCollectionName(name)) return null;
  return `'${name.slice(0, 80)}' is not the name of a collection. ${hintFor(
    name,
    PLACES.filter((place) => !DEVELOPMENT_PLACES.includes(place)),
  )}`;
}

function shapeFaults(json: unknown): Fault[] {
  // The validator reports an unknown member twice: once for the member itself, and once, with its name, for the object
  // around it.
  const found = Errors(POLICY, json)[1].filter(({ keyword }) => keyword !== 'boolean');
  return found.map((fault): Fault => {
    const unknown: unknown = Reflect.get(fault.params, 'additionalProperties');
    const [name] = Array.isArray(unknown) ? unknown : [];
    if (typeof name !== 'string') {
      const allowed: unknown = Reflect.get(fault.params, 'allowedValues');
      const which = Array.isArray(allowed) ? `: ${allowed.join(', ')}` : '';
      return { pointer: fault.instancePath, code: 'invalid-policy', detail: `This ${fault.message}${which}` };
    }
    const known = KNOWN.get(fault.instancePath) ?? [];
    const detail = `'${name.slice(0, 80)}' is not a member here. ${hintFor(name, known)}`;
    return { pointer: `${fault.instancePath}/${name}`, code: 'invalid-policy', detail };
  });
}

const KNOWN: ReadonlyMap<string, readonly string[]> = new Map([
  ['', Object.keys(POLICY.properties)],
  ['/principals', ['anonymous', 'authenticated', 'roles', 'users', 'keys']],
  ['/fields', ['read', 'write']],
]);

/** Reads the filter member by member, so that a fault can be placed. */
function readWhere(where: object): OpenFilter {
  for (const [name, value] of Object.entries(where)) inMember(name, () => tried(parseFilterJson({ [name]: value })));
  return affordable(parseFilterJson(where), LIMITS.liveCost);
}

/** Returns the filter after trying to fill its variables: later no request may fail because they cannot be filled. */
function tried(filter: OpenFilter): OpenFilter {
  bind(filter, { now: new Date(), user: null });
  return filter;
}

function readSet(set: object): ReadonlyMap<string, OpenValue> {
  return new Map(
    Object.entries(set).map(([name, value]) => [name, inMember(name, () => readSetMember(name, value))] as const),
  );
}

function readSetMember(name: string, value: unknown): OpenValue {
  if (name.startsWith('_') || name === 'id' || /[.$]/.test(name)) {
    throw new MillraceError('invalid-policy', `'${name}' is not a member that a policy can set`, {
      hint: 'Name a member of the document itself',
    });
  }
  // The filter language reads values and variables; the test around the value is not used.
  const question = tried(parseFilterJson({ value: { $eq: value } }));
  if (question.kind === 'field' && question.test.op === 'in') {
    const [read] = question.test.values;
    if (read !== undefined) return read;
  }
  throw new MillraceError('invalid-policy', `The value of '${name}' cannot be set`);
}

function inMember<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalidPolicy(faultsAt(`/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, error));
  }
}

function faultsAt(pointer: string, error: unknown): Fault[] {
  if (!(error instanceof MillraceError)) throw error;
  const { message, hint } = error;
  return [...error.with(hint === undefined ? {} : { message: `${message}. ${hint}` }).at(pointer).faults];
}

function namesVariable(value: unknown, name: RegExp): boolean {
  if (typeof value === 'string') return name.test(value);
  if (value instanceof Variable) return name.test(`$${value.name}`);
  return typeof value === 'object' && value !== null && Object.values(value).some((one) => namesVariable(one, name));
}
