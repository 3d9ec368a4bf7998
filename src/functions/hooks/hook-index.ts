/**
 * Index of write hooks by collection and action, ordered by id. Rebuilt when the active plugins change, because every
 * write reads it.
 */
import { EVERY_COLLECTION, WRITE_HOOK_ACTIONS, type WriteHookAction } from '../plugins/manifest/manifest.ts';
import type { PluginFunction } from '../plugins/plugin.ts';

export type WriteHookFunction = PluginFunction<'beforeWrite'>;

/** The hooks of one action. */
interface Seeing<T> {
  readonly named: ReadonlyMap<string, readonly T[]>;
  /** For collections that no hook names; null if no hook covers those. */
  readonly others: readonly T[] | null;
}

export class WriteHookIndex<T> {
  readonly #seeing: ReadonlyMap<WriteHookAction, Seeing<T>>;

  /** @param created creates the entry of a function */
  constructor(functions: readonly WriteHookFunction[], created: (fn: WriteHookFunction) => T) {
    const ordered = functions
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map((fn) => ({ use: fn.options, created: created(fn) }));
    const seeing = WRITE_HOOK_ACTIONS.flatMap((action) => {
      const ofAction = ordered.filter(({ use }) => use.actions.includes(action));
      if (ofAction.length === 0) return [];
      const names = new Set(ofAction.flatMap(({ use }) => use.collections));
      const inCollection = (name: string) =>
        ofAction.filter(({ use }) => use.collections.includes(name) || use.collections.includes(EVERY_COLLECTION));
      const named = [...names].map((name) => [name, inCollection(name).map((one) => one.created)] as const);
      const others = inCollection(EVERY_COLLECTION).map((one) => one.created);
      return [[action, { named: new Map(named), others: others.length === 0 ? null : others }] as const];
    });
    this.#seeing = new Map(seeing);
  }

  /** The hooks of a write, in order; null if there are none. */
  find(collection: string, action: WriteHookAction): readonly T[] | null {
    const seeing = this.#seeing.get(action);
    return seeing === undefined ? null : (seeing.named.get(collection) ?? seeing.others);
  }
}
