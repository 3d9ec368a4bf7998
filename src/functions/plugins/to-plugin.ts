/**
 * Makes the frozen plugin that functions are run from, out of its manifest, its scripts and what is remembered of it. Pure. Not
 * here: whether its manifest is valid (manifest/).
 */
import type { Bundle } from '../sandbox/sandbox.ts';
import type { DeclaredHook } from './manifest/declared-hooks.ts';
import { BEFORE_ACTIONS, type Manifest, type ManifestFunction, MOST_MS } from './manifest/manifest.ts';
import { functionKind } from './manifest/manifest-rules.ts';
import { methodsOf } from './manifest/routes.ts';
import type { FunctionUse, Plugin, PluginFunction } from './plugin.ts';

/** A version of a plugin that can be in force. */
export interface UsablePlugin {
  readonly manifest: Manifest;
  readonly bundle: Bundle;
  readonly version: string;
  readonly readsAccounts: boolean;
}

/** What holds for every version of a plugin. */
export interface PluginState {
  readonly from: Plugin['from'];
  readonly enabled: boolean;
  /** Names of functions. */
  readonly quarantined: readonly string[];
  /** All that it has, by name. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** @param usable with a valid manifest */
export function toPlugin(usable: UsablePlugin, { from, enabled, quarantined, secrets }: PluginState): Plugin {
  const { manifest, bundle, version, readsAccounts } = usable;
  const named = (manifest.secrets ?? []).flatMap((name): readonly (readonly [string, string])[] => {
    const value = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
    return value === undefined ? [] : [[name, value]];
  });
  const functions: PluginFunction[] = [];
  const plugin: Plugin = Object.freeze({
    name: manifest.name,
    from,
    version,
    enabled,
    isStandIn: false,
    bundle,
    fetchHosts: Object.freeze([...(manifest.fetch ?? [])]),
    secrets: Object.freeze(Object.fromEntries(named)),
    readsAccounts,
    functions,
  });
  for (const fn of manifest.functions) {
    const use = useOf(fn);
    const isCalled = use.kind === 'endpoint' || use.kind === 'before';
    functions.push(
      Object.freeze({
        id: `${manifest.name}/${fn.name}`,
        name: fn.name,
        plugin,
        file: fn.file,
        use,
        as: fn.as ?? (isCalled ? 'caller' : 'function'),
        roles: Object.freeze([...(fn.roles ?? [])]),
        timeoutMs: fn.timeoutMs ?? MOST_MS[use.kind],
        isQuarantined: quarantined.includes(fn.name),
      }),
    );
  }
  Object.freeze(functions);
  return plugin;
}

const NO_CODE: Bundle = Object.freeze({ id: 'stand-in', files: new Map() });

/**
 * What takes the place of a plugin of which no version can be used: functions that refuse the writes that it wants to check.
 * Otherwise writes would pass that nothing has checked (decisions/0142).
 * @returns null when it checks no writes
 */
export function toStandIn(
  name: string,
  hooks: readonly DeclaredHook[],
  { from, version }: Pick<Plugin, 'from' | 'version'>,
): Plugin | null {
  if (hooks.length === 0) return null;
  const functions: PluginFunction[] = [];
  const plugin: Plugin = Object.freeze({
    ...{ name, from, version, enabled: true, isStandIn: true, bundle: NO_CODE, functions },
    ...{ fetchHosts: [], secrets: Object.freeze({}), readsAccounts: false },
  });
  for (const { name: fn, collections, actions } of hooks) {
    const use = { kind: 'before', collections, actions } as const;
    const rest = { file: '', as: 'caller', roles: [], timeoutMs: MOST_MS.before, isQuarantined: false } as const;
    functions.push(Object.freeze({ id: `${name}/${fn}`, name: fn, plugin, use, ...rest }));
  }
  Object.freeze(functions);
  return plugin;
}

/** What can be done with a function of a valid manifest. */
export function useOf(fn: ManifestFunction): FunctionUse {
  switch (functionKind(fn)) {
    case 'endpoint':
      return {
        kind: 'endpoint',
        methods: methodsOf(fn),
        path: fn.http?.path ?? '/',
        authorization: fn.authorization ?? 'millrace',
        largeNumbers: fn.largeNumbers ?? 'refuse',
      };
    case 'trigger':
      return { kind: 'trigger', on: fn.on ?? [], filter: filterOf(fn.filter) };
    case 'cron':
      return { kind: 'cron', schedule: fn.cron ?? '', timeZone: fn.timeZone ?? 'UTC' };
    case 'before': {
      const { collections = [], actions = BEFORE_ACTIONS } = fn.before ?? {};
      return { kind: 'before', collections, actions };
    }
    default:
      return { kind: 'job' };
  }
}

function filterOf(filter: object | undefined): Readonly<Record<string, unknown>> | null {
  return filter === undefined || Object.keys(filter).length === 0 ? null : { ...filter };
}
