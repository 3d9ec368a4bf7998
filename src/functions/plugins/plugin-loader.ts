/**
 * Activates the plugins of folders and of the database in one process, and again within a second of a change in any process. An
 * invalid version leaves the previous one active.
 */
import { relative } from 'node:path';
import type { ClientSession } from 'mongodb';
import type { Transactions } from '../../database/transactions.ts';
import { Reloader } from '../../lib/concurrency/reloader.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { PluginRegistry } from './active-plugins.ts';
import { toPlaceholderPlugin, toPlugin, type UsablePlugin } from './build-plugin.ts';
import { FolderPlugins } from './folders/folder-plugins.ts';
import type { FolderPlugin } from './folders/read-plugin.ts';
import { EVERY_COLLECTION, type Manifest } from './manifest/manifest.ts';
import { formatDiagnostic, type PluginDiagnostic } from './manifest/plugin-error.ts';
import type { Plugin } from './plugin.ts';
import { defaultPluginRow, PLUGINS_COLLECTION, type PluginRow } from './store/plugin-row.ts';
import { NO_SECRETS, type PluginSecretStore, type StoredPluginSecrets } from './store/plugin-secret-store.ts';
import type { PluginStore } from './store/plugin-store.ts';
import type { StoredVersion, VersionStore } from './store/version-store.ts';
import {
  failedPluginValidation,
  findRouteConflicts,
  listFunctionRoutes,
  type ValidatedPlugin,
  validateFolderPlugin,
  validateStoredPlugin,
  validationKeyOf,
} from './validate-plugin.ts';

export interface PluginStores {
  readonly plugins: PluginStore;
  readonly versions: VersionStore;
  readonly secrets: PluginSecretStore;
}

export interface PluginLoaderDeps {
  readonly folders: readonly string[];
  readonly stores: PluginStores;
  readonly transactions: Pick<Transactions, 'run'>;
  readonly registry: PluginRegistry;
  /** Null where functions are disabled: then scripts are parsed, but not checked. */
  readonly sandbox: Pick<Sandbox, 'check'> | null;
  /** Called with errors of a plugin, once. */
  readonly onIssue: (text: string) => void;
  readonly onError: (error: unknown) => void;
}

/** A known plugin, active or not. */
export interface LoadedPlugin {
  readonly name: string;
  readonly from: Plugin['from'];
  readonly row: PluginRow;
  readonly secrets: StoredPluginSecrets;
  /** The newest or activated version: its manifest, if it can be read. */
  readonly manifest: Manifest | null;
  readonly version: string;
  /** Why that version is not active. */
  readonly diagnostics: readonly PluginDiagnostic[];
  /** The stand-in for a plugin without a valid version, which rejects the writes that it declares to check. */
  readonly placeholder: Plugin | null;
  /** The active version: that one or, while it is invalid, an earlier one; null for none. */
  readonly plugin: Plugin | null;
  /** Of a folder. */
  readonly folder: FolderPlugin | null;
}

interface Known {
  readonly validated: ValidatedPlugin;
  /** The newest valid one. */
  readonly good: UsablePlugin | null;
  /** The inputs of the active plugin. */
  readonly created: string;
  readonly plugin: Plugin | null;
}

interface Snapshot {
  readonly rows: readonly PluginRow[];
  readonly secrets: ReadonlyMap<string, StoredPluginSecrets>;
  /** By plugin, of those that are not loaded yet. */
  readonly versions: ReadonlyMap<string, StoredVersion>;
}

export class PluginLoader {
  readonly #deps: PluginLoaderDeps;
  readonly #folders: FolderPlugins;
  readonly reloader: Reloader;
  readonly #placeholders = new WeakMap<ValidatedPlugin, Plugin | null>();
  #known: ReadonlyMap<string, Known> = new Map();
  #loaded: readonly LoadedPlugin[] = [];
  #reported = new Map<string, string>();

  constructor(deps: PluginLoaderDeps) {
    this.#deps = deps;
    const { folders, onError } = deps;
    this.reloader = new Reloader({
      read: () => this.#read(),
      concerns: (collection) => collection === PLUGINS_COLLECTION,
      onError,
    });
    this.#folders = new FolderPlugins({ folders, onChange: () => void this.reloader.reload(), onError });
  }

  /** All plugins ordered by name, as of the last read. */
  get loaded(): readonly LoadedPlugin[] {
    return this.#loaded;
  }

  /** Reads the folders. The reloader is started separately. */
  async start(): Promise<void> {
    await this.#folders.start();
  }

  async stop(): Promise<void> {
    await this.#folders.stop();
    await this.reloader.stop();
  }

  /** The plugin of this name in a folder; null if there is none, or if the database has one of its name. */
  inFolder(name: string): FolderPlugin | null {
    const isInDatabase = this.#loaded.some((one) => one.name === name && one.from === 'database');
    return isInDatabase ? null : (this.#folders.found.find((one) => one.name === name) ?? null);
  }

  async #read(): Promise<void> {
    const { stores, transactions } = this.#deps;
    const folders = this.#folders.found;
    // Without plugins, this query is the only one, without a transaction.
    const isEmpty = folders.length === 0 && (await stores.plugins.all()).length === 0;
    const none: Snapshot = { rows: [], secrets: new Map(), versions: new Map() };
    await this.#use(folders, isEmpty ? none : await transactions.run((session) => this.#snapshot(session)));
  }

  async #snapshot(session: ClientSession): Promise<Snapshot> {
    const { plugins, versions, secrets } = this.#deps.stores;
    const rows = await plugins.all(session);
    const fresh = new Map<string, StoredVersion>();
    for (const row of rows) {
      const { _id: name, version } = row;
      if (version === null || this.#known.get(name)?.validated.key === validationKeyOf(row)) continue;
      const found = await versions.find(name, version, session);
      if (found !== null) fresh.set(name, found);
    }
    return { rows, secrets: await secrets.all(session), versions: fresh };
  }

  async #use(folders: readonly FolderPlugin[], { rows, secrets, versions }: Snapshot): Promise<void> {
    const known = new Map<string, Known>();
    const loaded = new Map<string, LoadedPlugin>();
    const taken = new Map<string, string>();
    const add = (from: Plugin['from'], row: PluginRow, validated: ValidatedPlugin, folder: FolderPlugin | null) => {
      const name = row._id;
      const kept = secrets.get(name) ?? NO_SECRETS;
      const clash = validated.usable === null ? [] : findRouteConflicts(validated.usable.manifest, taken);
      const next = this.#created(from, row, kept, clash.length > 0 ? { ...validated, usable: null } : validated, taken);
      known.set(name, { ...next, validated });
      const { plugin, good } = next;
      if (plugin !== null && good !== null)
        for (const [route, id] of listFunctionRoutes(good.manifest)) taken.set(route, id);
      const { manifest, version } = validated;
      const encrypted =
        good !== null && plugin === null ? [{ pointer: '', message: 'Its secrets cannot be decrypted' }] : [];
      const diagnostics = [...validated.diagnostics, ...clash, ...encrypted];
      const standIn = plugin === null && row.enabled ? this.#placeholder(name, from, validated) : null;
      loaded.set(name, {
        name,
        from,
        row,
        secrets: kept,
        manifest,
        version,
        diagnostics,
        placeholder: standIn,
        plugin,
        folder,
      });
      this.#report(name, folder, diagnostics, plugin, standIn);
    };
    for (const row of rows) {
      if (row.version === null) continue;
      const before = this.#known.get(row._id)?.validated;
      const isKnown = before?.key === validationKeyOf(row);
      add('database', row, isKnown ? before : await validateStoredPlugin(row, versions.get(row._id) ?? null), null);
    }
    const remembered = new Map(rows.map((row) => [row._id, row]));
    for (const folder of this.#inTurn(folders)) {
      const other = loaded.get(folder.name);
      if (other === undefined) {
        add(
          'folder',
          remembered.get(folder.name) ?? defaultPluginRow(folder.name),
          await this.#ofFolder(folder),
          folder,
        );
        continue;
      }
      const where = other.folder === null ? 'in the database' : `in ${other.folder.folder}`;
      const message = `Another plugin has this name ${where}, and takes precedence`;
      this.#report(folder.name, folder, [{ pointer: '/name', message }], null);
    }
    this.#known = known;
    this.#loaded = [...loaded.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.#deps.registry.setPlugins(this.#loaded.flatMap((one) => one.plugin ?? one.placeholder ?? []));
  }

  /**
   * Order in which plugins in folders claim routes: first unchanged active ones, then those that were active before a change. So
   * a new plugin with the same routes displaces none, whatever its name is.
   */
  #inTurn(folders: readonly FolderPlugin[]): readonly FolderPlugin[] {
    const turnOf = ({ name, folder, digest }: FolderPlugin): number => {
      const before = this.#loaded.find((one) => one.name === name);
      if (before?.folder?.folder !== folder || before.plugin === null) return 2;
      return before.folder.digest === digest && before.diagnostics.length === 0 ? 0 : 1;
    };
    return folders.toSorted((a, b) => turnOf(a) - turnOf(b));
  }

  /** The same object as long as the version is the same. */
  #placeholder(name: string, from: Plugin['from'], validated: ValidatedPlugin): Plugin | null {
    const known = this.#placeholders.get(validated);
    if (known !== undefined) return known;
    const created = toPlaceholderPlugin(name, validated.hooks, { from, version: validated.version });
    this.#placeholders.set(validated, created);
    return created;
  }

  async #ofFolder(folder: FolderPlugin): Promise<ValidatedPlugin> {
    const before = this.#known.get(folder.name)?.validated;
    if (before?.key === folder.digest) return before;
    try {
      return await validateFolderPlugin(folder, this.#deps.sandbox);
    } catch (error) {
      this.#deps.onError(error);
      return failedPluginValidation(folder);
    }
  }

  /** The active plugin: the same object as long as nothing about it changes. */
  #created(
    from: Plugin['from'],
    row: PluginRow,
    secrets: StoredPluginSecrets,
    { usable }: ValidatedPlugin,
    taken: ReadonlyMap<string, string>,
  ): Omit<Known, 'validated'> {
    const before = this.#known.get(row._id);
    const former = before?.plugin?.from === from ? before.good : null;
    const good = usable ?? (former !== null && findRouteConflicts(former.manifest, taken).length === 0 ? former : null);
    const quarantined = row.quarantined.map((one) => one.function);
    const created = JSON.stringify([from, row.enabled, quarantined, secrets.change]);
    if (before?.created === created && before.good === good) return before;
    try {
      const state = { from, enabled: row.enabled, quarantined };
      const plugin = good === null ? null : toPlugin(good, { ...state, secrets: secrets.open() });
      return { good, created, plugin };
    } catch (error) {
      this.#deps.onError(new Error(`The secrets of the plugin '${row._id}' cannot be used`, { cause: error }));
      return { good, created: '', plugin: null };
    }
  }

  /** Reports errors that differ from the last reported ones. */
  #report(
    name: string,
    folder: FolderPlugin | null,
    diagnostics: readonly PluginDiagnostic[],
    activeNow: Plugin | null,
    standIn: Plugin | null = null,
  ): void {
    const key = folder?.folder ?? name;
    const path = folder === null ? '' : relative('', folder.folder);
    const rest =
      activeNow !== null
        ? 'The previous version stays active.'
        : `It is not active.${refusal(blockedCollectionsOf(standIn))}`;
    const lines = diagnostics.map((issue) => formatDiagnostic(issue, path));
    const text = lines.length === 0 ? '' : `The plugin '${name}' has errors. ${rest}\n  ${lines.join('\n  ')}`;
    if ((this.#reported.get(key) ?? '') === text) return;
    this.#reported.set(key, text);
    if (text !== '') this.#deps.onIssue(text);
  }
}

/** The collections whose writes a stand-in rejects: `*` for all. */
export function blockedCollectionsOf(standIn: Plugin | null): readonly string[] {
  const names =
    standIn?.functions.flatMap(({ options }) => (options.kind === 'beforeWrite' ? options.collections : [])) ?? [];
  return names.includes(EVERY_COLLECTION) ? [EVERY_COLLECTION] : [...new Set(names)].sort();
}

function refusal(blocked: readonly string[]): string {
  if (blocked.length === 0) return '';
  const which = blocked.includes(EVERY_COLLECTION) ? 'all collections' : blocked.join(', ');
  return ` Writes to ${which} are rejected until it is fixed or disabled.`;
}
