/**
 * Which functions see which writes: by collection and action, in the order of their ids. Made anew when the plugins in force
 * change, because it is asked for every write. Not here: calling them (befores.ts).
 */
import { BEFORE_ACTIONS, type BeforeAction, EVERY_COLLECTION } from '../../plugins/manifest/manifest.ts';
import type { PluginFunction } from '../../plugins/plugin.ts';

export type Before = PluginFunction<'before'>;

/** What sees writes of one action. */
interface Seeing<T> {
  readonly named: ReadonlyMap<string, readonly T[]>;
  /** In collections that no function names; null when nothing sees those. */
  readonly others: readonly T[] | null;
}

export class BeforeTable<T> {
  readonly #seeing: ReadonlyMap<BeforeAction, Seeing<T>>;

  /** @param made what is found for a function */
  constructor(functions: readonly Before[], made: (fn: Before) => T) {
    const ordered = functions.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map((fn) => ({ use: fn.use, made: made(fn) }));
    const seeing = BEFORE_ACTIONS.flatMap((action) => {
      const ofAction = ordered.filter(({ use }) => use.actions.includes(action));
      if (ofAction.length === 0) return [];
      const names = new Set(ofAction.flatMap(({ use }) => use.collections));
      const inCollection = (name: string) =>
        ofAction.filter(({ use }) => use.collections.includes(name) || use.collections.includes(EVERY_COLLECTION));
      const named = [...names].map((name) => [name, inCollection(name).map((one) => one.made)] as const);
      const others = inCollection(EVERY_COLLECTION).map((one) => one.made);
      return [[action, { named: new Map(named), others: others.length === 0 ? null : others }] as const];
    });
    this.#seeing = new Map(seeing);
  }

  /** What sees such a write, in order; null when nothing does. */
  find(collection: string, action: BeforeAction): readonly T[] | null {
    const seeing = this.#seeing.get(action);
    return seeing === undefined ? null : (seeing.named.get(collection) ?? seeing.others);
  }
}
