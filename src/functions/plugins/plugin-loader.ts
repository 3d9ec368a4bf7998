/**
 * Puts the plugins of folders and of the database in force in one process, and again within a second of every change, of which
 * process ever. A version with a fault leaves the one before in force. Not here: changing them (plugins.ts), reading folders
 * (folders/).
 */
import { relative } from 'node:path';
import type { ClientSession } from 'mongodb';
import type { Transactions } from '../../database/transactions.ts';
import { Reloader } from '../../kernel/concurrency/reloader.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { FolderPlugins } from './folders/folder-plugins.ts';
import type { FolderPlugin } from './folders/read-plugin.ts';
import {
  answersOf,
  clashes,
  keyOfRow,
  type LookedPlugin,
  lookAtFolder,
  lookAtStored,
  unlooked,
} from './looked-plugin.ts';
import { EVERY_COLLECTION, type Manifest } from './manifest/manifest.ts';
import { faultLine, type PluginFault } from './manifest/plugin-fault.ts';
import type { Plugin } from './plugin.ts';
import type { PluginBook } from './plugin-book.ts';
import { blankRow, PLUGINS_COLLECTION, type PluginRow } from './store/plugin-row.ts';
import { type KeptSecrets, NO_SECRETS, type PluginSecretStore } from './store/plugin-secret-store.ts';
import type { PluginStore } from './store/plugin-store.ts';
import type { StoredVersion, VersionStore } from './store/version-store.ts';
import { toPlugin, toStandIn, type UsablePlugin } from './to-plugin.ts';

export interface PluginStores {
  readonly plugins: PluginStore;
  readonly versions: VersionStore;
  readonly secrets: PluginSecretStore;
}

export interface PluginLoaderParts {
  readonly folders: readonly string[];
  readonly stores: PluginStores;
  readonly transactions: Pick<Transactions, 'run'>;
  readonly book: PluginBook;
  /** Null where no function is run: then scripts are not checked further than their types. */
  readonly sandbox: Pick<Sandbox, 'check'> | null;
  /** Told what is wrong with a plugin, once. */
  readonly onFault: (text: string) => void;
  readonly onError: (error: unknown) => void;
}

/** A plugin that there is, in force or not. */
export interface LoadedPlugin {
  readonly name: string;
  readonly from: Plugin['from'];
  readonly row: PluginRow;
  readonly secrets: KeptSecrets;
  /** The newest version, or the one that was activated: its manifest, if it can be read. */
  readonly manifest: Manifest | null;
  readonly version: string;
  /** Why that version is not in force. */
  readonly faults: readonly PluginFault[];
  /** What takes the place of a plugin of which no version can be used, and refuses the writes that it wants to check. */
  readonly standIn: Plugin | null;
  /** What is in force: that version or, while that has faults, an earlier one; null for nothing. */
  readonly plugin: Plugin | null;
  /** Of a folder. */
  readonly folder: FolderPlugin | null;
}

interface Known {
  readonly looked: LookedPlugin;
  /** The newest one without faults. */
  readonly good: UsablePlugin | null;
  /** What the plugin in force was made of. */
  readonly made: string;
  readonly plugin: Plugin | null;
}

interface Snapshot {
  readonly rows: readonly PluginRow[];
  readonly secrets: ReadonlyMap<string, KeptSecrets>;
  /** By plugin, of those that are not known yet. */
  readonly versions: ReadonlyMap<string, StoredVersion>;
}

export class PluginLoader {
  readonly #parts: PluginLoaderParts;
  readonly #folders: FolderPlugins;
  readonly reloader: Reloader;
  readonly #standIns = new WeakMap<LookedPlugin, Plugin | null>();
  #known: ReadonlyMap<string, Known> = new Map();
  #loaded: readonly LoadedPlugin[] = [];
  #told = new Map<string, string>();

  constructor(parts: PluginLoaderParts) {
    this.#parts = parts;
    const { folders, onError } = parts;
    this.reloader = new Reloader({
      read: () => this.#read(),
      concerns: (collection) => collection === PLUGINS_COLLECTION,
      onError,
    });
    this.#folders = new FolderPlugins({ folders, onChange: () => void this.reloader.reload(), onError });
  }

  /** All plugins in the order of their names, as they were at the last reading. */
  get loaded(): readonly LoadedPlugin[] {
    return this.#loaded;
  }

  /** Reads the folders. The reloader is started apart. */
  async start(): Promise<void> {
    await this.#folders.start();
  }

  async stop(): Promise<void> {
    await this.#folders.stop();
    await this.reloader.stop();
  }

  /** The plugin of this name that lies in a folder; null for none, and where the database has one of its name. */
  inFolder(name: string): FolderPlugin | null {
    const isInDatabase = this.#loaded.some((one) => one.name === name && one.from === 'database');
    return isInDatabase ? null : (this.#folders.found.find((one) => one.name === name) ?? null);
  }

  async #read(): Promise<void> {
    const { stores, transactions } = this.#parts;
    const folders = this.#folders.found;
    // Without any plugin there is this one question, and no transaction.
    const isEmpty = folders.length === 0 && (await stores.plugins.all()).length === 0;
    const none: Snapshot = { rows: [], secrets: new Map(), versions: new Map() };
    await this.#use(folders, isEmpty ? none : await transactions.run((session) => this.#snapshot(session)));
  }

  async #snapshot(session: ClientSession): Promise<Snapshot> {
    const { plugins, versions, secrets } = this.#parts.stores;
    const rows = await plugins.all(session);
    const fresh = new Map<string, StoredVersion>();
    for (const row of rows) {
      const { _id: name, version } = row;
      if (version === null || this.#known.get(name)?.looked.key === keyOfRow(row)) continue;
      const found = await versions.find(name, version, session);
      if (found !== null) fresh.set(name, found);
    }
    return { rows, secrets: await secrets.all(session), versions: fresh };
  }

  async #use(folders: readonly FolderPlugin[], { rows, secrets, versions }: Snapshot): Promise<void> {
    const known = new Map<string, Known>();
    const loaded = new Map<string, LoadedPlugin>();
    const taken = new Map<string, string>();
    const add = (from: Plugin['from'], row: PluginRow, looked: LookedPlugin, folder: FolderPlugin | null) => {
      const name = row._id;
      const kept = secrets.get(name) ?? NO_SECRETS;
      const clash = looked.usable === null ? [] : clashes(looked.usable.manifest, taken);
      const next = this.#made(from, row, kept, clash.length > 0 ? { ...looked, usable: null } : looked, taken);
      known.set(name, { ...next, looked });
      const { plugin, good } = next;
      if (plugin !== null && good !== null) for (const [route, id] of answersOf(good.manifest)) taken.set(route, id);
      const { manifest, version } = looked;
      const sealed = good !== null && plugin === null ? [{ pointer: '', message: 'Its secrets cannot be opened' }] : [];
      const faults = [...looked.faults, ...clash, ...sealed];
      const standIn = plugin === null && row.enabled ? this.#standIn(name, from, looked) : null;
      loaded.set(name, { name, from, row, secrets: kept, manifest, version, faults, standIn, plugin, folder });
      this.#tell(name, folder, faults, plugin, standIn);
    };
    for (const row of rows) {
      if (row.version === null) continue;
      const before = this.#known.get(row._id)?.looked;
      const isKnown = before?.key === keyOfRow(row);
      add('database', row, isKnown ? before : await lookAtStored(row, versions.get(row._id) ?? null), null);
    }
    const remembered = new Map(rows.map((row) => [row._id, row]));
    for (const folder of this.#inTurn(folders)) {
      const other = loaded.get(folder.name);
      if (other === undefined) {
        add('folder', remembered.get(folder.name) ?? blankRow(folder.name), await this.#ofFolder(folder), folder);
        continue;
      }
      const where = other.folder === null ? 'in the database' : `in ${other.folder.folder}`;
      const message = `There is a plugin of this name ${where}, which counts`;
      this.#tell(folder.name, folder, [{ pointer: '/name', message }], null);
    }
    this.#known = known;
    this.#loaded = [...loaded.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.#parts.book.use(this.#loaded.flatMap((one) => one.plugin ?? one.standIn ?? []));
  }

  /**
   * In which turn folders take what they answer: first those that are in force as they are, then those that were in force before
   * a change. So a new plugin that answers the same requests pushes none out, whatever its name is.
   */
  #inTurn(folders: readonly FolderPlugin[]): readonly FolderPlugin[] {
    const turnOf = ({ name, folder, digest }: FolderPlugin): number => {
      const before = this.#loaded.find((one) => one.name === name);
      if (before?.folder?.folder !== folder || before.plugin === null) return 2;
      return before.folder.digest === digest && before.faults.length === 0 ? 0 : 1;
    };
    return folders.toSorted((a, b) => turnOf(a) - turnOf(b));
  }

  /** The same object as long as the version is the same. */
  #standIn(name: string, from: Plugin['from'], looked: LookedPlugin): Plugin | null {
    const known = this.#standIns.get(looked);
    if (known !== undefined) return known;
    const made = toStandIn(name, looked.hooks, { from, version: looked.version });
    this.#standIns.set(looked, made);
    return made;
  }

  async #ofFolder(folder: FolderPlugin): Promise<LookedPlugin> {
    const before = this.#known.get(folder.name)?.looked;
    if (before?.key === folder.digest) return before;
    try {
      return await lookAtFolder(folder, this.#parts.sandbox);
    } catch (error) {
      this.#parts.onError(error);
      return unlooked(folder);
    }
  }

  /** What is in force: the same object as long as nothing about it changes. */
  #made(
    from: Plugin['from'],
    row: PluginRow,
    secrets: KeptSecrets,
    { usable }: LookedPlugin,
    taken: ReadonlyMap<string, string>,
  ): Omit<Known, 'looked'> {
    const before = this.#known.get(row._id);
    const former = before?.plugin?.from === from ? before.good : null;
    const good = usable ?? (former !== null && clashes(former.manifest, taken).length === 0 ? former : null);
    const quarantined = row.quarantined.map((one) => one.function);
    const made = JSON.stringify([from, row.enabled, quarantined, secrets.change]);
    if (before?.made === made && before.good === good) return before;
    try {
      const state = { from, enabled: row.enabled, quarantined };
      const plugin = good === null ? null : toPlugin(good, { ...state, secrets: secrets.open() });
      return { good, made, plugin };
    } catch (error) {
      this.#parts.onError(new Error(`The secrets of the plugin '${row._id}' cannot be used`, { cause: error }));
      return { good, made: '', plugin: null };
    }
  }

  /** Tells of faults when they are others than those that were told last. */
  #tell(
    name: string,
    folder: FolderPlugin | null,
    faults: readonly PluginFault[],
    inForce: Plugin | null,
    standIn: Plugin | null = null,
  ): void {
    const key = folder?.folder ?? name;
    const place = folder === null ? '' : relative('', folder.folder);
    const rest =
      inForce !== null ? 'The version before stays in force.' : `It is not in force.${refusal(blockedBy(standIn))}`;
    const lines = faults.map((fault) => faultLine(fault, place));
    const text = lines.length === 0 ? '' : `The plugin '${name}' has faults. ${rest}\n  ${lines.join('\n  ')}`;
    if ((this.#told.get(key) ?? '') === text) return;
    this.#told.set(key, text);
    if (text !== '') this.#parts.onFault(text);
  }
}

/** The collections whose writes a stand-in refuses: `*` for all. */
export function blockedBy(standIn: Plugin | null): readonly string[] {
  const names = standIn?.functions.flatMap(({ use }) => (use.kind === 'before' ? use.collections : [])) ?? [];
  return names.includes(EVERY_COLLECTION) ? [EVERY_COLLECTION] : [...new Set(names)].sort();
}

function refusal(blocked: readonly string[]): string {
  if (blocked.length === 0) return '';
  const which = blocked.includes(EVERY_COLLECTION) ? 'all collections' : blocked.join(', ');
  return ` Writes to ${which} are refused until it is repaired or switched off.`;
}
