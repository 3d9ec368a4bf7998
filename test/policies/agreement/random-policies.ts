/** Random policies, documents, principals and requests, over a domain small enough that they often match. */
import { ANONYMOUS, type Principal } from '../../../src/auth/identity/principal.ts';
import { acting, key, user } from '../../helpers/principals.ts';
import type { Random } from '../../helpers/random.ts';

export type Json = Record<string, unknown>;

export interface PolicyLike {
  readonly resources: readonly string[];
  readonly actions: readonly string[];
  readonly effect: 'allow' | 'deny';
  readonly principals?: Json;
  readonly filter?: Json;
  readonly fields?: { readonly read?: readonly string[]; readonly write?: readonly string[] };
  readonly set?: Json;
}

const FIELDS = ['owner', 'team', 'n', 'tags', 'flag', 'box'] as const;
const RULES = [...FIELDS, 'box.a', 'box.b'];

/**
 * The program gets `flag` as a name with a dot and `box.b` as one with a `$`; the referee, whose engine has no paths for
 * such names, gets them as they are here.
 */
const WRITTEN: Readonly<Record<string, string>> = { flag: "['f.lag']", 'box.b': "box['$b']" };

/** The path as the program gets it. */
export const writtenPath = (path: string): string => WRITTEN[path] ?? path;

/** Policies or a filter as the program gets them. */
export function withWrittenPaths<T>(json: T): T {
  return JSON.parse(
    JSON.stringify(json).replaceAll(/"(-?)(flag|box\.b)"/g, (_, out, path) => `"${out}${WRITTEN[path]}"`),
  );
}

/** A document as the program gets it. */
export function withStoredNames<T>(json: T): T {
  return JSON.parse(JSON.stringify(json).replaceAll('"flag":', '"f.lag":').replaceAll('"b":', '"$b":'));
}

/** The program's result, with the names of the referee. */
export function withPlainNames<T>(json: T): T {
  return JSON.parse(JSON.stringify(json).replaceAll('"f.lag":', '"flag":').replaceAll('"$b":', '"b":'));
}

export function randomPrincipals(): readonly Principal[] {
  return [
    ANONYMOUS,
    user('u1', ['red'], { team: 'red' }),
    user('u2', ['blue', 'red']),
    user('u3', [], { team: 'blue' }),
    key('k1', { roles: ['red'] }),
    acting('shop/total', 'red'),
  ];
}

export function randomDocument(random: Random, id: string): Json {
  const maybe = (name: string, value: unknown): Json => (random.once(4) ? {} : { [name]: value });
  return { id, ...randomProperties(random), ...maybe('owner', random.pick(['u1', 'u2', 'u3'])) };
}

/** Some fields, each with a value that a policy may test. */
export function randomProperties(random: Random): Json {
  const fields: Json = {};
  if (!random.once(3)) fields['team'] = random.pick(['red', 'blue']);
  if (!random.once(3)) fields['n'] = random.below(4);
  if (!random.once(3)) fields['tags'] = random.pick([[], ['x'], ['x', 'y'], ['y']]);
  if (!random.once(3)) fields['flag'] = random.pick([true, false, null]);
  if (!random.once(3)) fields['box'] = { a: random.below(3), b: random.pick(['p', 'q']) };
  return fields;
}

/** Fields that a write sends, sometimes `owner` among them. */
export function randomBody(random: Random): Json {
  const body = randomProperties(random);
  return random.once(3) ? { ...body, owner: random.pick(['u1', 'u2']) } : body;
}

/** Conditions without variables, for queries. */
export function randomFilter(random: Random): Json {
  return random.pick<() => Json>([
    () => ({ n: { $gt: random.below(3) } }),
    () => ({ n: { $in: [random.below(4), random.below(4)] } }),
    () => ({ tags: random.pick(['x', 'y']) }),
    () => ({ flag: random.pick([true, false, null]) }),
    () => ({ flag: { $exists: random.once(2) } }),
    () => ({ 'box.a': random.below(3) }),
    () => ({ team: { $ne: random.pick(['red', 'blue']) } }),
    () => ({ owner: random.pick(['u1', 'u2']) }),
    () => ({ $or: [randomFilter(random), randomFilter(random)] }),
    () => ({ $nor: [randomFilter(random)] }),
    () => ({ n: { $not: { $gt: random.below(3) } } }),
  ])();
}

/** The paths that a filter uses. */
export function pathsIn(filter: Json): string[] {
  return Object.entries(filter).flatMap(([name, value]) =>
    name.startsWith('$') && Array.isArray(value) ? value.flatMap((one: Json) => pathsIn(one)) : [name],
  );
}

function randomWhere(random: Random): Json {
  return random.pick<() => Json>([
    () => ({ owner: '$user.id' }),
    () => ({ owner: { $ne: '$user.id' } }),
    () => ({ team: '$user.claims.team' }),
    () => ({ team: { $in: '$user.roles' } }),
    () => randomFilter(random),
    () => ({ $or: [{ owner: '$user.id' }, randomFilter(random)] }),
    () => ({ ...randomFilter(random), owner: { $exists: true } }),
  ])();
}

export function randomPolicies(random: Random): PolicyLike[] {
  const policies = Array.from({ length: 2 + random.below(4) }, () => randomPolicy(random));
  // One that grants reading, so that something is visible.
  return [
    ...policies,
    { ...randomPolicy(random), actions: ['read', 'update'], effect: 'allow', ...randomFields(random) },
  ];
}

function randomPolicy(random: Random): PolicyLike {
  const deny = random.once(5);
  const all = ['read', 'create', 'update', 'delete'];
  const actions = random.once(2) ? all : all.filter(() => random.once(2));
  const about = {
    resources: [random.once(4) ? '*' : 'things'],
    actions: actions.length === 0 ? ['read'] : actions,
    effect: deny ? 'deny' : 'allow',
    ...(random.once(2) ? {} : { principals: randomWho(random) }),
    ...(!deny && random.once(3) ? {} : { filter: randomWhere(random) }),
  } as const;
  if (deny) return about;
  const set = random.once(6) ? { set: { owner: random.pick(['$user.id', 'u1']) } } : {};
  return { ...about, ...randomFields(random), ...set };
}

function randomFields(random: Random): Pick<PolicyLike, 'fields'> {
  if (random.once(2)) return {};
  return { fields: { read: randomRules(random), ...(random.once(2) ? {} : { write: randomRules(random) }) } };
}

function randomRules(random: Random): readonly string[] {
  const named = RULES.filter(() => random.once(4)).filter(
    (rule, _, all) => !all.includes(rule.split('.')[0] ?? '') || !rule.includes('.'),
  );
  return random.once(2) ? named : ['*', ...named.map((name) => `-${name}`)];
}

function randomWho(random: Random): Json {
  return random.pick<Json>([
    { anonymous: true },
    { authenticated: true },
    { roles: ['red'] },
    { roles: ['blue'], users: ['u1'] },
    { users: ['u2', 'u3'] },
    { keys: ['k1'], anonymous: true },
  ]);
}

/** The paths of all values that are not objects, or empty ones. */
export function leavesOf(fields: Json, path: readonly string[] = []): string[][] {
  return Object.entries(fields).flatMap(([name, value]) => {
    const here = [...path, name];
    return isJson(value) && Object.keys(value).length > 0 ? leavesOf(value, here) : [here];
  });
}

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
