/**
 * Which writes a manifest declares to check, even if it is invalid: unreadable parts count as all writes, because an overlooked
 * check would let writes pass. Pure.
 */
import { isCollectionName } from '../../../database/parse-collection-name.ts';
import { isPlainObject } from '../../../lib/plain-object.ts';
import { EVERY_COLLECTION, WRITE_HOOK_ACTIONS, type WriteHookAction } from './manifest.ts';
import { FUNCTION_KIND_BY_FIELD } from './manifest-rules.ts';

/** The writes that one function checks. */
export interface DeclaredHook {
  /** Name of the function; a generic one if it has no readable name. */
  readonly name: string;
  /** Names of collections, or `*` for all. */
  readonly collections: readonly string[];
  readonly actions: readonly WriteHookAction[];
}

const UNKNOWN_NAME = 'unknown';

/** For a manifest that cannot be read at all. */
export const UNREADABLE_MANIFEST_HOOKS: readonly DeclaredHook[] = Object.freeze([everyWrite(UNKNOWN_NAME)]);

/** @param written the content of `plugin.json`, valid or not; undefined where it is not JSON */
export function readDeclaredHooks(written: unknown): readonly DeclaredHook[] {
  if (!isPlainObject(written) || !Array.isArray(written['functions'])) return UNREADABLE_MANIFEST_HOOKS;
  return written['functions'].flatMap(hookOf);
}

function hookOf(fn: unknown): readonly DeclaredHook[] {
  if (!isPlainObject(fn)) return UNREADABLE_MANIFEST_HOOKS;
  const name = typeof fn['name'] === 'string' ? fn['name'].slice(0, 80) : UNKNOWN_NAME;
  if (!Object.hasOwn(fn, 'beforeWrite')) {
    // A function without a kind may have a misspelled `beforeWrite`.
    return Object.keys(FUNCTION_KIND_BY_FIELD).some((kind) => Object.hasOwn(fn, kind)) ? [] : [everyWrite(name)];
  }
  const { beforeWrite } = fn;
  if (!isPlainObject(beforeWrite)) return [everyWrite(name)];
  return [{ name, collections: collectionsOf(beforeWrite['collections']), actions: actionsOf(beforeWrite['actions']) }];
}

function everyWrite(name: string): DeclaredHook {
  return { name, collections: [EVERY_COLLECTION], actions: WRITE_HOOK_ACTIONS };
}

/** All collections if one of the names is invalid: it may be misspelled. */
function collectionsOf(written: unknown): readonly string[] {
  const all = [EVERY_COLLECTION];
  if (!Array.isArray(written) || written.length === 0) return all;
  const names = written.filter(
    (name) => typeof name === 'string' && (name === EVERY_COLLECTION || isCollectionName(name)),
  );
  return names.length === written.length ? names : all;
}

function actionsOf(written: unknown): readonly WriteHookAction[] {
  if (!Array.isArray(written) || written.length === 0) return WRITE_HOOK_ACTIONS;
  const found = WRITE_HOOK_ACTIONS.filter((action) => written.includes(action));
  return written.every((action) => found.includes(action)) ? found : WRITE_HOOK_ACTIONS;
}
