/**
 * The plugins in force in one process, in memory: what each kind of function is found by. Not here: where they come from and
 * when they are read again (plugin-loader.ts).
 */
import { FUNCTION_KINDS, type FunctionKind } from '../sandbox/sandbox.ts';
import type { ActivePlugins, Plugin, PluginFunction } from './plugin.ts';

type ByKind = { readonly [K in FunctionKind]: readonly PluginFunction<K>[] };

const NONE: ByKind = { endpoint: [], trigger: [], cron: [], before: [], job: [] };

export class PluginBook implements ActivePlugins {
  readonly #listeners = new Set<() => void>();
  readonly #onError: (error: unknown) => void;
  #plugins: readonly Plugin[] = [];
  #byId: ReadonlyMap<string, PluginFunction> = new Map();
  #byKind: ByKind = NONE;

  /** @param onError called when a listener throws: the others are told all the same */
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

  /** Puts exactly these plugins in force. Nobody is told when they are the ones that are in force already. */
  use(plugins: readonly Plugin[]): void {
    const before = this.#plugins;
    if (before.length === plugins.length && plugins.every((one, index) => one === before[index])) return;
    const all = plugins.flatMap(({ functions, enabled }) => (enabled ? functions : []));
    this.#plugins = Object.freeze([...plugins]);
    this.#byId = new Map(all.map((fn) => [fn.id, fn]));
    const byKind = Object.fromEntries(
      FUNCTION_KINDS.map((kind) => [kind, Object.freeze(all.filter(({ use }) => use.kind === kind))]),
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
