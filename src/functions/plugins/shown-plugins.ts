/**
 * Plugins as answers show them: what is in force of each, how its functions ran, and its versions. No secret is among it. Not
 * here: changing them (plugins.ts).
 */
import type { ClientSession } from 'mongodb';
import type { Transactions } from '../../database/transactions.ts';
import { cronTimes } from './manifest/cron.ts';
import type { Manifest } from './manifest/manifest.ts';
import { faultLine } from './manifest/plugin-fault.ts';
import type { FunctionUse, Plugin, PluginFunction } from './plugin.ts';
import { blockedBy, type LoadedPlugin, type PluginLoader, type PluginStores } from './plugin-loader.ts';
import { noPlugin, noVersion, pluginTag } from './plugins.ts';
import type { StoredVersion, VersionNote } from './store/version-store.ts';
import { useOf } from './to-plugin.ts';

/** How functions ran. Functions that never did are not among the answer. */
export interface FunctionFigures {
  /** @param ids `plugin/name` */
  of(ids: readonly string[]): Promise<
    ReadonlyMap<
      string,
      {
        readonly ok: number;
        readonly failed: number;
        /** Milliseconds; null without any run. */
        readonly p95Ms: number | null;
        readonly lastRunAt: Date | null;
      }
    >
  >;
}

export interface ShownFunction {
  readonly name: string;
  readonly kind: FunctionUse['kind'];
  readonly state: 'active' | 'disabled' | 'quarantined' | 'invalid';
  /** Why it is invalid or in quarantine. */
  readonly error: string | null;
  readonly runs: { readonly ok: number; readonly failed: number; readonly p95Ms: number | null };
  readonly lastRunAt: Date | null;
  readonly nextRunAt: Date | null;
  readonly [use: string]: unknown;
}

/** A version without its scripts; its number as text, because versions of plugins in folders are no numbers. */
export type ShownVersion = Omit<VersionNote, 'version'> & { readonly version: string };

export interface ShownPlugin {
  readonly name: string;
  readonly from: Plugin['from'];
  /** What is in force; the newest one where nothing is. */
  readonly version: string;
  readonly enabled: boolean;
  /** Why the newest version is not in force. */
  readonly faults: readonly string[];
  /** The collections whose writes are refused because of that; `*` for all. */
  readonly blockedCollections: readonly string[];
  readonly functions: readonly ShownFunction[];
}

export interface WholePlugin extends ShownPlugin {
  readonly manifest: unknown;
  readonly files: Readonly<Record<string, string>>;
  readonly secrets: readonly { readonly name: string; readonly set: boolean }[];
}

export interface ShownPluginsParts {
  readonly stores: PluginStores;
  readonly transactions: Pick<Transactions, 'run'>;
  readonly loader: PluginLoader;
  readonly figures: FunctionFigures;
}

export class ShownPlugins {
  readonly #parts: ShownPluginsParts;

  constructor(parts: ShownPluginsParts) {
    this.#parts = parts;
  }

  /** In the order of their names. */
  async list(): Promise<readonly ShownPlugin[]> {
    const { loader } = this.#parts;
    await loader.reloader.reload();
    return this.#shown(loader.loaded);
  }

  /** @throws MillraceError `plugin-not-found` */
  async one(name: string): Promise<{ readonly plugin: WholePlugin; readonly tag: string }> {
    const found = await this.#latest(name);
    const [shown] = await this.#shown([found]);
    if (shown === undefined) throw noPlugin(name);
    const { row, folder, secrets: kept } = found;
    const { manifest, files } =
      folder === null
        ? written(await this.#stored(name, row.version ?? 0))
        : { manifest: folder.manifest, files: Object.fromEntries(folder.files) };
    const secrets = (found.manifest?.secrets ?? []).map((one) => ({ name: one, set: kept.names.includes(one) }));
    const tag = pluginTag(row, kept.change, folder?.digest ?? null);
    return { plugin: { ...shown, manifest, files, secrets }, tag };
  }

  /** The newest first; none of a plugin in a folder. @throws MillraceError `plugin-not-found` */
  async versions(name: string): Promise<readonly ShownVersion[]> {
    await this.#latest(name);
    const { stores, transactions } = this.#parts;
    const notes = await transactions.run((session) => stores.versions.list(name, session));
    return notes.map(shownVersion);
  }

  /** @throws MillraceError `plugin-not-found` also when the version is not kept */
  async version(name: string, number: number): Promise<ShownVersion & Pick<WholePlugin, 'manifest' | 'files'>> {
    await this.#latest(name);
    const stored = await this.#stored(name, number);
    return { ...shownVersion(stored), ...written(stored) };
  }

  async #latest(name: string): Promise<LoadedPlugin> {
    const { loader } = this.#parts;
    await loader.reloader.reload();
    const found = loader.loaded.find((one) => one.name === name);
    if (found === undefined) throw noPlugin(name);
    return found;
  }

  async #stored(name: string, version: number): Promise<StoredVersion> {
    const { stores, transactions } = this.#parts;
    const stored = await transactions.run((session: ClientSession) => stores.versions.find(name, version, session));
    if (stored === null) throw noVersion(name, version);
    return stored;
  }

  async #shown(all: readonly LoadedPlugin[]): Promise<readonly ShownPlugin[]> {
    const ids = all.flatMap(({ name, manifest, plugin }) => [
      ...(plugin?.functions.map(({ id }) => id) ?? []),
      ...(manifest?.functions.map((fn) => `${name}/${fn.name}`) ?? []),
    ]);
    const figures = ids.length === 0 ? new Map() : await this.#parts.figures.of([...new Set(ids)]);
    return Promise.all(
      all.map(async (one) => ({
        name: one.name,
        from: one.from,
        version: one.plugin?.version ?? one.version,
        enabled: one.row.enabled,
        faults: one.faults.map((fault) => faultLine(fault)),
        blockedCollections: blockedBy(one.standIn),
        functions: await Promise.all(
          statesOf(one).map(async ({ name, use, state, error }) => {
            const { lastRunAt = null, ...runs } = figures.get(`${one.name}/${name}`) ?? UNRUN;
            const nextRunAt = state === 'active' ? await nextOf(use) : null;
            return { name, kind: use.kind, ...usedBy(use), state, error, runs, lastRunAt, nextRunAt };
          }),
        ),
      })),
    );
  }
}

const UNRUN = { ok: 0, failed: 0, p95Ms: null, lastRunAt: null };

type FunctionState = Pick<ShownFunction, 'name' | 'state' | 'error'> & { readonly use: FunctionUse };

/** The functions that are in force, and those that a version with faults would have besides. */
function statesOf({ row, plugin, manifest, faults }: LoadedPlugin): readonly FunctionState[] {
  const inForce =
    plugin?.functions.map((fn) => ({ ...stateOf(fn, row.quarantined), name: fn.name, use: fn.use })) ?? [];
  const names = new Set(inForce.map(({ name }) => name));
  const [fault] = faults;
  const error = fault === undefined ? null : faultLine(fault);
  const others = manifest?.functions.filter(({ name }) => !names.has(name)) ?? [];
  return [...inForce, ...others.map((fn) => ({ name: fn.name, use: useOf(fn), state: 'invalid' as const, error }))];
}

function stateOf(
  { name, isQuarantined, plugin }: PluginFunction,
  quarantined: LoadedPlugin['row']['quarantined'],
): Pick<ShownFunction, 'state' | 'error'> {
  if (isQuarantined) {
    return { state: 'quarantined', error: quarantined.find((one) => one.function === name)?.reason ?? null };
  }
  return { state: plugin.enabled ? 'active' : 'disabled', error: null };
}

/** What a function is called by, under the word of the manifest; the address of an endpoint as `route`. */
function usedBy(use: FunctionUse): object {
  switch (use.kind) {
    case 'endpoint':
      return { route: { methods: use.methods, path: `/fn${use.path}` } };
    case 'trigger':
      return { on: use.on };
    case 'cron':
      return { cron: use.schedule, timeZone: use.timeZone };
    case 'before':
      return { before: { collections: use.collections, actions: use.actions } };
    case 'job':
      return { job: true };
  }
}

async function nextOf(use: FunctionUse): Promise<Date | null> {
  return use.kind === 'cron' ? (await cronTimes(use.schedule, use.timeZone)).after(new Date()) : null;
}

function written({ manifest, files }: StoredVersion): Pick<WholePlugin, 'manifest' | 'files'> {
  const parsed: Manifest = JSON.parse(manifest);
  return { manifest: parsed, files: Object.fromEntries(files.map(({ path, text }) => [path, text])) };
}

function shownVersion({ version, at, by, note }: VersionNote): ShownVersion {
  return { version: String(version), at, by, note };
}
