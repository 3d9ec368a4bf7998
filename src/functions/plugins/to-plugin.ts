/**
 * Makes the frozen plugin that functions are run from, out of its manifest, its scripts and what is remembered of it. Pure. Not
 * here: whether its manifest is valid (manifest/).
 */
import type { Bundle } from '../sandbox/sandbox.ts';
import { type Manifest, type ManifestFunction, MOST_MS } from './manifest/manifest.ts';
import { functionKind } from './manifest/manifest-rules.ts';
import { methodsOf } from './manifest/routes.ts';
import { BEFORE_ACTIONS, type FunctionUse, type Plugin, type PluginFunction } from './plugin.ts';

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

const FAILS = 'export default () => { throw new Error("The plugin has faults, so no version of it is in force"); };';

/**
 * What takes the place of a plugin of which no version can be in force: its functions that see writes, and they fail. Otherwise
 * writes would be made that nothing has checked (decisions/0142).
 * @returns null when no function of it sees writes
 */
export function toBlocking(manifest: Manifest, from: Plugin['from'], version: string): Plugin | null {
  const functions = manifest.functions.filter((fn) => functionKind(fn) === 'before');
  if (functions.length === 0) return null;
  const files = new Map(functions.map(({ file }) => [file, FAILS]));
  const bundle = Object.freeze({ id: `blocking:${[...files.keys()].join()}`, files });
  const usable = { manifest: { ...manifest, functions }, bundle, version, readsAccounts: false };
  return toPlugin(usable, { from, enabled: true, quarantined: [], secrets: {} });
}

/** What can be done with a function of a valid manifest. */
export function useOf(fn: ManifestFunction): FunctionUse {
  switch (functionKind(fn)) {
    case 'endpoint':
      return { kind: 'endpoint', methods: methodsOf(fn), path: fn.http?.path ?? '/' };
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
