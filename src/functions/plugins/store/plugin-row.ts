/**
 * A plugin as a document of `_plugins`, whose changes are events: the active version, whether it is enabled, and quarantined
 * functions. Scripts and secrets are stored elsewhere. A plugin in a folder has a document only if it has state to store.
 */
import type { SystemDocumentMeta } from '../../../database/system-collection.ts';
import type { SystemCollection } from '../../../lib/event-types.ts';

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
  /** The active version; null for a plugin in a folder. */
  readonly version: number | null;
  /** Identifies the content of that version; null for a plugin in a folder. */
  readonly digest: string | null;
  /** Whether the administrator who stored the version may read users. */
  readonly readsUsers: boolean;
  readonly enabled: boolean;
  readonly quarantined: readonly QuarantinedFunction[];
  readonly _meta?: SystemDocumentMeta;
}

/** The state of a plugin without a document. */
export function defaultPluginRow(name: string): PluginRow {
  return { _id: name, version: null, digest: null, readsUsers: false, enabled: true, quarantined: [] };
}
