/** Builds the frozen plugin that functions run from, out of its manifest, scripts and stored state. Pure. */
import type { Bundle } from '../sandbox/sandbox.ts';
import type { DeclaredHook } from './manifest/declared-hooks.ts';
import { httpMethodsOf } from './manifest/endpoint-paths.ts';
import { MAX_RUN_MS, type Manifest, type ManifestFunction, WRITE_HOOK_ACTIONS } from './manifest/manifest.ts';
import { functionKind } from './manifest/manifest-rules.ts';
import type { FunctionOptions, Plugin, PluginFunction } from './plugin.ts';

/** A valid version of a plugin. */
export interface UsablePlugin {
  readonly manifest: Manifest;
  readonly bundle: Bundle;
  readonly version: string;
  readonly readsUsers: boolean;
}

/** The state shared by all versions of a plugin. */
export interface PluginSharedState {
  readonly from: Plugin['from'];
  readonly enabled: boolean;
  /** Names of functions. */
  readonly quarantined: readonly string[];
  /** All of its secrets, by name. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** @param usable with a valid manifest */
export function toPlugin(usable: UsablePlugin, { from, enabled, quarantined, secrets }: PluginSharedState): Plugin {
  const { manifest, bundle, version, readsUsers } = usable;
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
    isPlaceholder: false,
    bundle,
    fetchHosts: Object.freeze([...(manifest.fetch ?? [])]),
    secrets: Object.freeze(Object.fromEntries(named)),
    isolation: manifest.isolation ?? 'plugin',
    readsUsers,
    functions,
  });
  for (const fn of manifest.functions) {
    const use = toFunctionOptions(fn);
    const isCalled = use.kind === 'http' || use.kind === 'beforeWrite';
    functions.push(
      Object.freeze({
        id: `${manifest.name}/${fn.name}`,
        name: fn.name,
        plugin,
        file: fn.file,
        options: use,
        as: fn.as ?? (isCalled ? 'caller' : 'function'),
        roles: Object.freeze([...(fn.roles ?? [])]),
        timeoutMs: fn.timeoutMs ?? MAX_RUN_MS[use.kind],
        isQuarantined: quarantined.includes(fn.name),
      }),
    );
  }
  Object.freeze(functions);
  return plugin;
}

const NO_CODE: Bundle = Object.freeze({ id: 'stand-in', files: new Map() });

/**
 * The stand-in for a plugin without a valid version: hooks that reject the writes that it declares to check. Otherwise
 * writes would pass unchecked (decisions/0142).
 * @returns null when it checks no writes
 */
export function toPlaceholderPlugin(
  name: string,
  hooks: readonly DeclaredHook[],
  { from, version }: Pick<Plugin, 'from' | 'version'>,
): Plugin | null {
  if (hooks.length === 0) return null;
  const functions: PluginFunction[] = [];
  const plugin: Plugin = Object.freeze({
    ...{ name, from, version, enabled: true, isPlaceholder: true, bundle: NO_CODE, functions },
    ...{ fetchHosts: [], secrets: Object.freeze({}), isolation: 'call', readsUsers: false },
  });
  for (const { name: fn, collections, actions } of hooks) {
    const use = { kind: 'beforeWrite', collections, actions } as const;
    const rest = {
      file: '',
      as: 'caller',
      roles: [],
      timeoutMs: MAX_RUN_MS.beforeWrite,
      isQuarantined: false,
    } as const;
    functions.push(Object.freeze({ id: `${name}/${fn}`, name: fn, plugin, options: use, ...rest }));
  }
  Object.freeze(functions);
  return plugin;
}

/** The use of a function of a valid manifest. */
export function toFunctionOptions(fn: ManifestFunction): FunctionOptions {
  switch (functionKind(fn)) {
    case 'http':
      return {
        kind: 'http',
        methods: httpMethodsOf(fn),
        path: fn.http?.path ?? '/',
        authorization: fn.authorization ?? 'millrace',
        largeNumbers: fn.largeNumbers ?? 'reject',
      };
    case 'trigger':
      return { kind: 'trigger', on: fn.on ?? [], filter: filterOf(fn.filter) };
    case 'cron':
      return { kind: 'cron', schedule: fn.cron ?? '', timeZone: fn.timeZone ?? 'UTC' };
    case 'beforeWrite': {
      const { collections = [], actions = WRITE_HOOK_ACTIONS } = fn.beforeWrite ?? {};
      return { kind: 'beforeWrite', collections, actions };
    }
    default:
      return { kind: 'job' };
  }
}

function filterOf(filter: object | undefined): Readonly<Record<string, unknown>> | null {
  return filter === undefined || Object.keys(filter).length === 0 ? null : { ...filter };
}
