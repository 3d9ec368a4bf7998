/**
 * One policy: parsed from what an administrator wrote, with the JSON Pointer of every error, and checked for conditions
 * that can never be true. Pure.
 */
import { Check, Errors } from 'typebox/schema';
import type { ServerMode } from '../config/config.ts';
import { isCollectionName } from '../database/parse-collection-name.ts';
import { didYouMeanHint } from '../lib/did-you-mean.ts';
import { type Issue, MillraceError } from '../lib/errors.ts';
import { bindVariables } from '../query/evaluate/bind-variables.ts';
import type { FieldTree } from '../query/evaluate/field-tree.ts';
import { requireAffordableFilter } from '../query/evaluate/filter-cost.ts';
import { type UnboundFilter, Variable } from '../query/filter.ts';
import { QUERY_LIMITS } from '../query/limits.ts';
import { parseFilterJson } from '../query/parse/parse-filter-json.ts';
import type { UnboundValue } from '../query/parse-values.ts';
import { parseFieldRules, SYSTEM_FIELDS_ONLY } from './fields/field-rules.ts';
import { POLICY_SCHEMA, type PolicyJson } from './policy-schema.ts';
import type { PolicyAction } from './scope.ts';

/** A parsed policy. */
export interface Policy {
  readonly id: string;
  readonly name: string;
  readonly resources: ReadonlySet<string>;
  /** `read` always implies `get`. */
  readonly actions: ReadonlySet<PolicyAction>;
  readonly principals: PolicyJson['principals'];
  readonly effect: 'allow' | 'deny';
  readonly filter: UnboundFilter;
  readonly read: FieldTree;
  readonly write: FieldTree;
  readonly set: ReadonlyMap<string, UnboundValue>;
  /** The only mode in which it applies; null means both. */
  readonly mode: ServerMode | null;
  /** True if its effect changes with the time. */
  readonly namesNow: boolean;
  /** True if its effect differs between the principals that it applies to. */
  readonly namesUser: boolean;
  /** As it was written. */
  readonly json: PolicyJson;
}

/** Resources that only the policy of development mode may grant. */
const DEVELOPMENT_RESOURCES: readonly string[] = ['_events', '_admin'];
const RESOURCES: readonly string[] = ['*', '_files', '_functions', '_webhooks', ...DEVELOPMENT_RESOURCES];

/**
 * Parses a policy.
 * @throws MillraceError `invalid-policy` with all errors
 */
export function parsePolicy(id: string, json: unknown): Policy {
  if (!Check(POLICY_SCHEMA, json)) throw invalidPolicy(shapeIssues(json));
  const issues: Issue[] = [];
  const part = <T>(pointer: string, read: () => T, otherwise: T): T => {
    try {
      return read();
    } catch (error) {
      issues.push(...issuesAt(pointer, error));
      return otherwise;
    }
  };
  const policy: Policy = {
    id,
    name: json.name,
    resources: new Set(json.resources),
    actions: new Set(json.actions.flatMap(namedActions)),
    principals: json.principals,
    effect: json.effect,
    filter: part('/filter', () => readWhere(json.filter ?? {}), parseFilterJson({})),
    read: part('/fields/read', () => parseFieldRules(json.fields?.read), SYSTEM_FIELDS_ONLY),
    write: part('/fields/write', () => parseFieldRules(json.fields?.write), SYSTEM_FIELDS_ONLY),
    set: part('/set', () => readSet(json.set ?? {}), new Map()),
    mode: json.mode ?? null,
    namesNow: namesVariable([json.filter, json.set], /^\$now/),
    namesUser: namesVariable([json.filter, json.set], /^\$user/),
    json,
  };
  json.resources.forEach((name, index) => {
    const detail = resourceIssue(name, json);
    if (detail !== null) issues.push({ pointer: `/resources/${index}`, code: 'invalid-policy', detail });
  });
  if (issues.length > 0) throw invalidPolicy(issues);
  return policy;
}

export function invalidPolicy(issues: readonly Issue[]): MillraceError {
  const [first] = issues;
  return new MillraceError('invalid-policy', first?.detail ?? 'The policy is not valid', { issues });
}

function namedActions(action: PolicyJson['actions'][number]): PolicyAction[] {
  return action === 'read' || action === 'subscribe' ? ['read', 'get'] : [action];
}

function resourceIssue(name: string, { mode }: PolicyJson): string | null {
  if (DEVELOPMENT_RESOURCES.includes(name)) {
    return mode === 'development'
      ? null
      : `'${name}' is for administrators; only a policy with "mode": "development" opens it`;
  }
  if (RESOURCES.includes(name) || isCollectionName(name)) return null;
  return `'${name.slice(0, 80)}' is not the name of a collection. ${didYouMeanHint(
    name,
    RESOURCES.filter((resource) => !DEVELOPMENT_RESOURCES.includes(resource)),
  )}`;
}

function shapeIssues(json: unknown): Issue[] {
  // The validator reports an unknown field twice: once for the field itself, and once, with its name, for the object
  // around it.
  const found = Errors(POLICY_SCHEMA, json)[1].filter(({ keyword }) => keyword !== 'boolean');
  return found.map((issue): Issue => {
    const unknown: unknown = Reflect.get(issue.params, 'additionalProperties');
    const [name] = Array.isArray(unknown) ? unknown : [];
    if (typeof name !== 'string') {
      const allowed: unknown = Reflect.get(issue.params, 'allowedValues');
      const which = Array.isArray(allowed) ? `: ${allowed.join(', ')}` : '';
      return { pointer: issue.instancePath, code: 'invalid-policy', detail: `This ${issue.message}${which}` };
    }
    const known = KNOWN.get(issue.instancePath) ?? [];
    const detail = `'${name.slice(0, 80)}' is not a field here. ${didYouMeanHint(name, known)}`;
    return { pointer: `${issue.instancePath}/${name}`, code: 'invalid-policy', detail };
  });
}

const KNOWN: ReadonlyMap<string, readonly string[]> = new Map([
  ['', Object.keys(POLICY_SCHEMA.properties)],
  ['/principals', ['anonymous', 'authenticated', 'roles', 'users', 'keys']],
  ['/fields', ['read', 'write']],
]);

/** Parses the filter field by field, so that each error has a JSON Pointer. */
function readWhere(where: object): UnboundFilter {
  for (const [name, value] of Object.entries(where)) inField(name, () => tried(parseFilterJson({ [name]: value })));
  return requireAffordableFilter(parseFilterJson(where), QUERY_LIMITS.liveCost);
}

/** Returns the filter after a test fill of its variables: no later request may fail because they cannot be filled. */
function tried(filter: UnboundFilter): UnboundFilter {
  bindVariables(filter, { now: new Date(), user: null });
  return filter;
}

function readSet(set: object): ReadonlyMap<string, UnboundValue> {
  return new Map(
    Object.entries(set).map(([name, value]) => [name, inField(name, () => readSetField(name, value))] as const),
  );
}

function readSetField(name: string, value: unknown): UnboundValue {
  if (name.startsWith('_') || name === 'id' || /[.$]/.test(name)) {
    throw new MillraceError('invalid-policy', `'${name}' is not a field that a policy can set`, {
      hint: 'Use a top-level field of the document',
    });
  }
  // The filter language parses values and variables; the condition around the value is not used.
  const query = tried(parseFilterJson({ value: { $eq: value } }));
  if (query.kind === 'field' && query.test.op === 'in') {
    const [read] = query.test.values;
    if (read !== undefined) return read;
  }
  throw new MillraceError('invalid-policy', `The value of '${name}' cannot be set`);
}

function inField<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalidPolicy(issuesAt(`/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, error));
  }
}

function issuesAt(pointer: string, error: unknown): Issue[] {
  if (!(error instanceof MillraceError)) throw error;
  const { message, hint } = error;
  return [...error.with(hint === undefined ? {} : { message: `${message}. ${hint}` }).at(pointer).issues];
}

function namesVariable(value: unknown, name: RegExp): boolean {
  if (typeof value === 'string') return name.test(value);
  if (value instanceof Variable) return name.test(`$${value.name}`);
  return typeof value === 'object' && value !== null && Object.values(value).some((one) => namesVariable(one, name));
}
