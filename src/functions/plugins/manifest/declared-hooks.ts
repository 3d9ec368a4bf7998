/**
 * Which writes a manifest wants to check, also one with faults: what cannot be read counts as all writes, because a check that is
 * overlooked would let writes pass. Pure.
 */
import { isCollectionName } from '../../../database/names.ts';
import { isPlain } from '../../../kernel/objects.ts';
import { BEFORE_ACTIONS, type BeforeAction, EVERY_COLLECTION } from './manifest.ts';
import { KINDS } from './manifest-rules.ts';

/** The writes that one function checks. */
export interface DeclaredHook {
  /** Name of the function; a general one where it has none that can be read. */
  readonly name: string;
  /** Names of collections, or `*` for all. */
  readonly collections: readonly string[];
  readonly actions: readonly BeforeAction[];
}

const UNKNOWN_NAME = 'unknown';

/** Of a manifest that cannot be read at all. */
export const EVERY_WRITE: readonly DeclaredHook[] = Object.freeze([everyWrite(UNKNOWN_NAME)]);

/** @param written what stands in `plugin.json`, valid or not; undefined where it is not JSON */
export function declaredHooks(written: unknown): readonly DeclaredHook[] {
  if (!isPlain(written) || !Array.isArray(written['functions'])) return EVERY_WRITE;
  return written['functions'].flatMap(hookOf);
}

function hookOf(fn: unknown): readonly DeclaredHook[] {
  if (!isPlain(fn)) return EVERY_WRITE;
  const name = typeof fn['name'] === 'string' ? fn['name'].slice(0, 80) : UNKNOWN_NAME;
  if (!Object.hasOwn(fn, 'before')) {
    // A function of no kind may have a misspelled `before`.
    return Object.keys(KINDS).some((kind) => Object.hasOwn(fn, kind)) ? [] : [everyWrite(name)];
  }
  const { before } = fn;
  if (!isPlain(before)) return [everyWrite(name)];
  return [{ name, collections: collectionsOf(before['collections']), actions: actionsOf(before['actions']) }];
}

function everyWrite(name: string): DeclaredHook {
  return { name, collections: [EVERY_COLLECTION], actions: BEFORE_ACTIONS };
}

/** All collections where one of the names is none: it may be a misspelled one. */
function collectionsOf(written: unknown): readonly string[] {
  const all = [EVERY_COLLECTION];
  if (!Array.isArray(written) || written.length === 0) return all;
  const names = written.filter(
    (name) => typeof name === 'string' && (name === EVERY_COLLECTION || isCollectionName(name)),
  );
  return names.length === written.length ? names : all;
}

function actionsOf(written: unknown): readonly BeforeAction[] {
  if (!Array.isArray(written) || written.length === 0) return BEFORE_ACTIONS;
  const found = BEFORE_ACTIONS.filter((action) => written.includes(action));
  return written.every((action) => found.includes(action)) ? found : BEFORE_ACTIONS;
}
