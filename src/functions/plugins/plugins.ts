/**
 * Administration of plugins: store and activate versions, enable and disable plugins, set secrets, and release functions. A
 * change is active here when it resolves, and in all other processes within a second.
 */
import { hash } from 'node:crypto';
import type { ClientSession } from 'mongodb';
import type { AuditEvents } from '../../database/audit-only-events.ts';
import { type ChangeStamp, SYSTEM_CHANGE_STAMP } from '../../database/system-collection.ts';
import type { Transactions } from '../../database/transactions.ts';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Manifest } from './manifest/manifest.ts';
import { invalidPluginError } from './manifest/plugin-error.ts';
import { PLUGIN_PATCH, readUploadedPlugin, SECRET_BODY } from './plugin-body.ts';
import type { PluginLoader, PluginStores } from './plugin-loader.ts';
import { defaultPluginRow, type PluginRow } from './store/plugin-row.ts';
import { findRouteConflicts, listFunctionRoutes } from './validate-plugin.ts';

const MAX_PLUGINS = 200;

export interface PluginsDeps {
  readonly stores: PluginStores;
  readonly transactions: Pick<Transactions, 'run'>;
  readonly loader: PluginLoader;
  readonly activity: AuditEvents;
  /** Null where functions are disabled. */
  readonly sandbox: Pick<Sandbox, 'check'> | null;
}

/** A change of one plugin. */
export interface PluginChangeRequest {
  readonly name: string;
  /** Called with the version to be replaced, null if there is none; it throws to reject the change. */
  readonly condition: (version: string | null) => void;
  readonly stamp: ChangeStamp;
}

type UnconditionalChange = Omit<PluginChangeRequest, 'condition'>;

type Secrets = Readonly<Record<string, string>>;

export class Plugins {
  readonly #deps: PluginsDeps;

  constructor(deps: PluginsDeps) {
    this.#deps = deps;
  }

  /**
   * Stores and activates a version of a plugin.
   * @param readsUsers whether the caller may read users: then its triggers receive their events
   * @returns whether it is the first one of this name
   * @throws MillraceError `body-required`, `invalid-body`, `invalid-plugin`, `plugin-in-folder`, `too-many-plugins`, `forbidden`,
   * what the condition throws
   */
  async put(body: unknown, { name, condition, stamp }: PluginChangeRequest, readsUsers: boolean): Promise<boolean> {
    const { stores, sandbox } = this.#deps;
    this.#refuseFolder(name);
    const { manifest, files, bundle, note: log } = await readUploadedPlugin(body, { name, readsUsers, sandbox });
    await stores.versions.prepare();
    const text = JSON.stringify(manifest);
    const digest = hash('sha256', JSON.stringify([text, files]), 'base64url');
    return this.#change(name, async (before, session) => {
      // A plugin that was in a folder may have a row of state, but it is not a stored plugin.
      const isNew = before === null || before.version === null;
      condition(isNew ? null : await this.#tag(before, session));
      await this.#refuseClash(manifest, session);
      if (isNew && (await stores.plugins.count(session)) >= MAX_PLUGINS) {
        throw new MillraceError('too-many-plugins', `There are already ${MAX_PLUGINS} plugins`);
      }
      // State stored for a plugin in a folder belongs to the code in that folder.
      if (isNew) await stores.secrets.remove(name, session);
      const created = { createdAt: new Date(), createdBy: stamp.by, note: log };
      const stored = { manifest: text, files, digest, bundle, readsUsers, ...created };
      const version = await stores.versions.add(name, stored, before?.version ?? null, session);
      await this.#save(before, { version, digest, readsUsers }, manifest, stamp, session);
      return isNew;
    });
  }

  /**
   * Enables or disables a plugin.
   * @throws MillraceError `invalid-body`, `plugin-not-found`, what the condition throws
   */
  async patch(body: unknown, { name, condition, stamp }: PluginChangeRequest): Promise<void> {
    const { enabled } = validateBody(PLUGIN_PATCH, body);
    await this.#change(name, async (found, session) => {
      const before = this.#existing(name, found);
      condition(await this.#tag(before, session));
      await this.#deps.stores.plugins.save(found, { ...before, enabled }, stamp, session);
    });
  }

  /**
   * Deletes a plugin with its versions and secrets. Its runs are kept.
   * @throws MillraceError `plugin-not-found`, `plugin-in-folder`
   */
  async remove({ name, condition, stamp }: PluginChangeRequest): Promise<void> {
    const { plugins, versions, secrets } = this.#deps.stores;
    this.#refuseFolder(name);
    await this.#change(name, async (found, session) => {
      if (found === null) condition(null);
      const before = this.#existing(name, found);
      condition(await this.#tag(before, session));
      await versions.removeAll(name, session);
      await secrets.remove(name, session);
      await plugins.remove(name, stamp, session);
    });
  }

  /**
   * Activates another stored version.
   * @throws MillraceError `plugin-not-found` also when the version is not stored, `plugin-in-folder`, `invalid-plugin` when
   * another plugin now has one of its routes, what the condition throws
   */
  async activate(number: number, { name, condition, stamp }: PluginChangeRequest): Promise<void> {
    const { versions } = this.#deps.stores;
    this.#refuseFolder(name);
    await this.#change(name, async (found, session) => {
      const before = this.#existing(name, found);
      condition(await this.#tag(before, session));
      const stored = await versions.find(name, number, session);
      if (stored === null) throw pluginVersionNotFound(name, number);
      const manifest: Manifest = JSON.parse(stored.manifest);
      await this.#refuseClash(manifest, session);
      const { version, digest, readsUsers } = stored;
      await this.#save(before, { version, digest, readsUsers }, manifest, stamp, session);
    });
  }

  /**
   * Sets a secret.
   * @throws MillraceError `plugin-not-found`, `invalid-body`, `invalid-plugin` when the manifest names no such secret
   */
  async setSecret(secret: string, body: unknown, change: UnconditionalChange): Promise<void> {
    const { value } = validateBody(SECRET_BODY, body);
    const { name } = change;
    await this.#deps.stores.secrets.prepare();
    await this.#changeSecrets(change, async (before, kept, session) => {
      if ((await this.#secretNames(before, session)).includes(secret)) return { ...kept, [secret]: value };
      throw new MillraceError(
        'invalid-plugin',
        `The manifest of '${name}' declares no secret '${secret.slice(0, 80)}'`,
      );
    });
  }

  /**
   * Deletes a secret, if it exists.
   * @throws MillraceError `plugin-not-found`
   */
  async removeSecret(secret: string, change: UnconditionalChange): Promise<void> {
    await this.#changeSecrets(change, async (_before, kept) => {
      const { [secret]: _, ...rest } = kept;
      return Object.hasOwn(kept, secret) ? rest : kept;
    });
  }

  /**
   * Releases a function from quarantine.
   * @throws MillraceError `plugin-not-found`, `function-not-found`
   */
  async release(fn: string, { name, stamp }: UnconditionalChange): Promise<void> {
    await this.#change(name, async (found, session) => {
      const before = this.#existing(name, found);
      const quarantined = before.quarantined.filter((one) => one.function !== fn);
      if (quarantined.length < before.quarantined.length) {
        await this.#deps.stores.plugins.save(found, { ...before, quarantined }, stamp, session);
      } else if (!this.#functionNames(name).includes(fn)) {
        throw new MillraceError('function-not-found', `'${name}' has no function '${fn.slice(0, 80)}'`);
      }
    });
  }

  /**
   * Quarantines a function until it is released.
   * @param id `plugin/name`
   * @param reason what its calls did, for administrators
   */
  async quarantine(id: string, reason: string): Promise<void> {
    const { stores, activity } = this.#deps;
    const [name = '', fn = ''] = id.split('/');
    await this.#change(name, async (found, session) => {
      if (found === null && this.#deps.loader.inFolder(name) === null) return;
      const before = found ?? defaultPluginRow(name);
      if (before.quarantined.some((one) => one.function === fn)) return;
      const quarantined = [...before.quarantined, { function: fn, reason, at: new Date() }];
      await stores.plugins.save(found, { ...before, quarantined }, SYSTEM_CHANGE_STAMP, session);
      await activity.record('system.function.quarantined', { function: id, reason }, SYSTEM_CHANGE_STAMP, session);
    });
  }

  /** One change at a time in all processes; then it is read here. */
  async #change<T>(name: string, change: (found: PluginRow | null, session: ClientSession) => Promise<T>): Promise<T> {
    const { stores, transactions, loader } = this.#deps;
    const changed = await transactions.run(async (session) => {
      await stores.plugins.serializeWrites(session);
      return change(await stores.plugins.find(name, session), session);
    });
    await loader.reloader.reload();
    return changed;
  }

  async #changeSecrets(
    { name, stamp }: UnconditionalChange,
    change: (before: PluginRow, kept: Secrets, session: ClientSession) => Promise<Secrets>,
  ): Promise<void> {
    const { plugins, secrets } = this.#deps.stores;
    await this.#change(name, async (found, session) => {
      const before = this.#existing(name, found);
      const kept = (await secrets.of(name, session)).open();
      const next = await change(before, kept, session);
      if (next === kept) return;
      await secrets.save(name, next, session);
      // The update of the document is the event that notifies every process.
      await plugins.save(found, before, stamp, session);
    });
  }

  #save(
    before: PluginRow | null,
    activeNow: Pick<PluginRow, 'version' | 'digest' | 'readsUsers'>,
    { name, functions }: Manifest,
    stamp: ChangeStamp,
    session: ClientSession,
  ): Promise<void> {
    const { enabled, quarantined: all } = before ?? defaultPluginRow(name);
    const quarantined = all.filter((one) => functions.some((fn) => fn.name === one.function));
    return this.#deps.stores.plugins.save(before, { _id: name, ...activeNow, enabled, quarantined }, stamp, session);
  }

  /** The document of an existing plugin; a plugin in a folder may have none. */
  #existing(name: string, found: PluginRow | null): PluginRow {
    const isThere = found?.version != null || this.#deps.loader.inFolder(name) !== null;
    if (isThere) return found ?? defaultPluginRow(name);
    throw pluginNotFound(name);
  }

  async #tag(row: PluginRow, session: ClientSession): Promise<string> {
    const { change } = await this.#deps.stores.secrets.of(row._id, session);
    return pluginEtag(row, change, this.#deps.loader.inFolder(row._id)?.digest ?? null);
  }

  #refuseFolder(name: string): void {
    if (this.#deps.loader.inFolder(name) === null) return;
    throw new MillraceError('plugin-in-folder', `The plugin '${name}' is in a folder of the server`, {
      hint: 'Change its files there, or choose another name',
    });
  }

  /** @throws MillraceError `invalid-plugin` when another plugin has one of the routes */
  async #refuseClash(manifest: Manifest, session: ClientSession): Promise<void> {
    const { stores, loader } = this.#deps;
    const rows = await stores.plugins.all(session);
    const others = rows.flatMap(({ _id: plugin, version }) =>
      version === null || plugin === manifest.name ? [] : [{ plugin, version }],
    );
    const taken = new Map<string, string>();
    for (const text of (await stores.versions.manifests(others, session)).values()) {
      for (const [route, id] of listFunctionRoutes(JSON.parse(text))) taken.set(route, id);
    }
    for (const { from, manifest: other } of loader.loaded) {
      if (from === 'folder' && other !== null)
        for (const [route, id] of listFunctionRoutes(other)) taken.set(route, id);
    }
    const diagnostics = findRouteConflicts(manifest, taken);
    if (diagnostics.length > 0) throw invalidPluginError(diagnostics);
  }

  async #secretNames(row: PluginRow, session: ClientSession): Promise<readonly string[]> {
    const { stores, loader } = this.#deps;
    if (row.version === null) return loader.loaded.find(({ name }) => name === row._id)?.manifest?.secrets ?? [];
    const stored = await stores.versions.find(row._id, row.version, session);
    const manifest: Manifest | null = stored === null ? null : JSON.parse(stored.manifest);
    return manifest?.secrets ?? [];
  }

  #functionNames(plugin: string): readonly string[] {
    const found = this.#deps.loader.loaded.find(({ name }) => name === plugin);
    return found?.manifest?.functions.map(({ name }) => name) ?? [];
  }
}

/** The entity tag, different after each change of a plugin and of its secrets. */
export function pluginEtag(row: PluginRow, secrets: string | null, folder: string | null): string {
  return hash('sha256', JSON.stringify([row, secrets, folder]), 'base64url');
}

export function pluginNotFound(name: string): MillraceError {
  return new MillraceError('plugin-not-found', `There is no plugin '${name.slice(0, 80)}'`);
}

export function pluginVersionNotFound(name: string, version: number): MillraceError {
  return new MillraceError('plugin-not-found', `The version ${version} of '${name.slice(0, 80)}' is not stored`);
}
