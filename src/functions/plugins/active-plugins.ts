/** The active plugins of one process, in memory, with the indexes of each kind of function. */
import { FUNCTION_KINDS, type FunctionKind } from '../sandbox/sandbox.ts';
import type { ActivePlugins, Plugin, PluginFunction } from './plugin.ts';

type ByKind = { readonly [K in FunctionKind]: readonly PluginFunction<K>[] };

const NONE: ByKind = { http: [], trigger: [], cron: [], beforeWrite: [], job: [] };

export class PluginRegistry implements ActivePlugins {
  readonly #listeners = new Set<() => void>();
  readonly #onError: (error: unknown) => void;
  #plugins: readonly Plugin[] = [];
  #byId: ReadonlyMap<string, PluginFunction> = new Map();
  #byKind: ByKind = NONE;

  /** @param onError called when a listener throws; the others still run */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** All plugins, enabled or not. */
  get plugins(): readonly Plugin[] {
    return this.#plugins;
  }

  ofKind<K extends FunctionKind>(kind: K): readonly PluginFunction<K>[] {
    const ofKind: { readonly [Kind in K]: readonly PluginFunction<Kind>[] } = this.#byKind;
    return ofKind[kind];
  }

  find(id: string): PluginFunction | undefined {
    return this.#byId.get(id);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Activates exactly these plugins. Listeners are not called if nothing changes. */
  setPlugins(plugins: readonly Plugin[]): void {
    const before = this.#plugins;
    if (before.length === plugins.length && plugins.every((one, index) => one === before[index])) return;
    const all = plugins.flatMap(({ functions, enabled }) => (enabled ? functions : []));
    this.#plugins = Object.freeze([...plugins]);
    this.#byId = new Map(all.map((fn) => [fn.id, fn]));
    const byKind = Object.fromEntries(
      FUNCTION_KINDS.map((kind) => [kind, Object.freeze(all.filter(({ options }) => options.kind === kind))]),
    );
    this.#byKind = { ...NONE, ...byKind };
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        this.#onError(error);
      }
    }
  }
}
