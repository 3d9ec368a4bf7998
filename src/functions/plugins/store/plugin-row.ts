/**
 * A plugin as a document of `_plugins`, whose changes are events: which version is in force, whether it is enabled, and which
 * functions are in quarantine. Scripts and secrets stand elsewhere. Of a plugin in a folder there is one only when something
 * is to be remembered of it.
 */
import type { OwnMeta } from '../../../database/system-collection.ts';
import type { SystemCollection } from '../../../kernel/event-types.ts';

/** The collection of plugins in `<db>`. */
export const PLUGINS_COLLECTION: SystemCollection = '_plugins';

export interface QuarantinedFunction {
  /** Its name in the plugin. */
  readonly function: string;
  readonly reason: string;
  readonly at: Date;
}

export interface PluginRow {
  /** Its name. */
  readonly _id: string;
  /** The version in force; null for a plugin in a folder. */
  readonly version: number | null;
  /** Names the content of that version; null for a plugin in a folder. */
  readonly digest: string | null;
  /** Whether the owner who stored the version may read accounts. */
  readonly readsAccounts: boolean;
  readonly enabled: boolean;
  readonly quarantined: readonly QuarantinedFunction[];
  readonly _meta?: OwnMeta;
}

/** What is remembered of a plugin without a document. */
export function blankRow(name: string): PluginRow {
  return { _id: name, version: null, digest: null, readsAccounts: false, enabled: true, quarantined: [] };
}
