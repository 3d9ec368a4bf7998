/** Plugins as responses show them: the active version, run statistics of functions, and stored versions, without secrets. */
import type { ClientSession } from 'mongodb';
import type { Transactions } from '../../database/transactions.ts';
import { toFunctionOptions } from './build-plugin.ts';
import { cronTimes } from './manifest/cron.ts';
import type { Manifest } from './manifest/manifest.ts';
import { formatDiagnostic } from './manifest/plugin-error.ts';
import type { FunctionOptions, Plugin, PluginFunction } from './plugin.ts';
import { blockedCollectionsOf, type LoadedPlugin, type PluginLoader, type PluginStores } from './plugin-loader.ts';
import { pluginEtag, pluginNotFound, pluginVersionNotFound } from './plugins.ts';
import type { PluginVersionInfo, StoredVersion } from './store/version-store.ts';

/** Run statistics of functions. Functions without runs have no entry. */
export interface FunctionStatsReader {
  /** @param ids `plugin/name` */
  of(ids: readonly string[]): Promise<
    ReadonlyMap<
      string,
      {
        readonly succeeded: number;
        readonly failed: number;
        /** Milliseconds; null without runs. */
        readonly p95Ms: number | null;
        readonly lastRunAt: Date | null;
      }
    >
  >;
}

export interface FunctionView {
  readonly name: string;
  readonly kind: FunctionOptions['kind'];
  readonly state: 'active' | 'disabled' | 'quarantined' | 'invalid';
  /** Why it is invalid or quarantined. */
  readonly error: string | null;
  readonly runs: { readonly succeeded: number; readonly failed: number; readonly p95Ms: number | null };
  readonly lastRunAt: Date | null;
  readonly nextRunAt: Date | null;
  readonly [use: string]: unknown;
}

/** A version without its scripts; its number as text, because versions of plugins in folders are hashes. */
export type PluginVersionView = Omit<PluginVersionInfo, 'version'> & { readonly version: string };

export interface PluginView {
  readonly name: string;
  readonly source: Plugin['from'];
  /** The active version; the newest one if none is active. */
  readonly version: string;
  readonly enabled: boolean;
  /** Whether calls share contexts or have one each, as the active version declares it; null if none is active. */
  readonly isolation: Plugin['isolation'] | null;
  /** Why the newest version is not active. */
  readonly diagnostics: readonly string[];
  /** The collections whose writes are rejected because of that; `*` for all. */
  readonly blockedCollections: readonly string[];
  readonly functions: readonly FunctionView[];
}

export interface PluginDetails extends PluginView {
  readonly manifest: unknown;
  readonly files: Readonly<Record<string, string>>;
  readonly secrets: readonly { readonly name: string; readonly set: boolean }[];
}

export interface PluginViewsDeps {
  readonly stores: PluginStores;
  readonly transactions: Pick<Transactions, 'run'>;
  readonly loader: PluginLoader;
  readonly figures: FunctionStatsReader;
}

export class PluginViews {
  readonly #deps: PluginViewsDeps;

  constructor(deps: PluginViewsDeps) {
    this.#deps = deps;
  }

  /** Ordered by name. */
  async list(): Promise<readonly PluginView[]> {
    const { loader } = this.#deps;
    await loader.reloader.reload();
    return this.#shown(loader.loaded);
  }

  /** @throws MillraceError `plugin-not-found` */
  async one(name: string): Promise<{ readonly plugin: PluginDetails; readonly tag: string }> {
    const found = await this.#latest(name);
    const [shown] = await this.#shown([found]);
    if (shown === undefined) throw pluginNotFound(name);
    const { row, folder, secrets: kept } = found;
    const { manifest, files } =
      folder === null
        ? written(await this.#stored(name, row.version ?? 0))
        : { manifest: folder.manifest, files: Object.fromEntries(folder.files) };
    const secrets = (found.manifest?.secrets ?? []).map((one) => ({ name: one, set: kept.names.includes(one) }));
    const tag = pluginEtag(row, kept.change, folder?.digest ?? null);
    return { plugin: { ...shown, manifest, files, secrets }, tag };
  }

  /**
   * The newest first; empty for a plugin in a folder.
   * @throws MillraceError `plugin-not-found`
   */
  async versions(name: string): Promise<readonly PluginVersionView[]> {
    await this.#latest(name);
    const { stores, transactions } = this.#deps;
    const notes = await transactions.run((session) => stores.versions.list(name, session));
    return notes.map(shownVersion);
  }

  /** @throws MillraceError `plugin-not-found` also when the version is not stored */
  async version(name: string, number: number): Promise<PluginVersionView & Pick<PluginDetails, 'manifest' | 'files'>> {
    await this.#latest(name);
    const stored = await this.#stored(name, number);
    return { ...shownVersion(stored), ...written(stored) };
  }

  async #latest(name: string): Promise<LoadedPlugin> {
    const { loader } = this.#deps;
    await loader.reloader.reload();
    const found = loader.loaded.find((one) => one.name === name);
    if (found === undefined) throw pluginNotFound(name);
    return found;
  }

  async #stored(name: string, version: number): Promise<StoredVersion> {
    const { stores, transactions } = this.#deps;
    const stored = await transactions.run((session: ClientSession) => stores.versions.find(name, version, session));
    if (stored === null) throw pluginVersionNotFound(name, version);
    return stored;
  }

  async #shown(all: readonly LoadedPlugin[]): Promise<readonly PluginView[]> {
    const ids = all.flatMap(({ name, manifest, plugin }) => [
      ...(plugin?.functions.map(({ id }) => id) ?? []),
      ...(manifest?.functions.map((fn) => `${name}/${fn.name}`) ?? []),
    ]);
    const figures = ids.length === 0 ? new Map() : await this.#deps.figures.of([...new Set(ids)]);
    return Promise.all(
      all.map(async (one) => ({
        name: one.name,
        source: one.from,
        version: one.plugin?.version ?? one.version,
        enabled: one.row.enabled,
        isolation: one.plugin?.isolation ?? null,
        diagnostics: one.diagnostics.map((issue) => formatDiagnostic(issue)),
        blockedCollections: blockedCollectionsOf(one.placeholder),
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

const UNRUN = { succeeded: 0, failed: 0, p95Ms: null, lastRunAt: null };

type FunctionState = Pick<FunctionView, 'name' | 'state' | 'error'> & { readonly use: FunctionOptions };

/** The active functions, and the additional ones of an invalid version. */
function statesOf({ row, plugin, manifest, diagnostics }: LoadedPlugin): readonly FunctionState[] {
  const activeNow =
    plugin?.functions.map((fn) => ({ ...stateOf(fn, row.quarantined), name: fn.name, use: fn.options })) ?? [];
  const names = new Set(activeNow.map(({ name }) => name));
  const [issue] = diagnostics;
  const error = issue === undefined ? null : formatDiagnostic(issue);
  const others = manifest?.functions.filter(({ name }) => !names.has(name)) ?? [];
  return [
    ...activeNow,
    ...others.map((fn) => ({ name: fn.name, use: toFunctionOptions(fn), state: 'invalid' as const, error })),
  ];
}

function stateOf(
  { name, isQuarantined, plugin }: PluginFunction,
  quarantined: LoadedPlugin['row']['quarantined'],
): Pick<FunctionView, 'state' | 'error'> {
  if (isQuarantined) {
    return { state: 'quarantined', error: quarantined.find((one) => one.function === name)?.reason ?? null };
  }
  return { state: plugin.enabled ? 'active' : 'disabled', error: null };
}

/** The trigger of a function, under the key of the manifest; the path of an HTTP function as `route`. */
function usedBy(use: FunctionOptions): object {
  switch (use.kind) {
    case 'http':
      return { route: { methods: use.methods, path: `/fn${use.path}` } };
    case 'trigger':
      return { on: use.on };
    case 'cron':
      return { cron: use.schedule, timeZone: use.timeZone };
    case 'beforeWrite':
      return { beforeWrite: { collections: use.collections, actions: use.actions } };
    case 'job':
      return { job: true };
  }
}

async function nextOf(use: FunctionOptions): Promise<Date | null> {
  return use.kind === 'cron' ? (await cronTimes(use.schedule, use.timeZone)).after(new Date()) : null;
}

function written({ manifest, files }: StoredVersion): Pick<PluginDetails, 'manifest' | 'files'> {
  const parsed: Manifest = JSON.parse(manifest);
  return { manifest: parsed, files: Object.fromEntries(files.map(({ path, text }) => [path, text])) };
}

function shownVersion({ version, createdAt, createdBy, note: log }: PluginVersionInfo): PluginVersionView {
  return { version: String(version), createdAt, createdBy, note: log };
}
