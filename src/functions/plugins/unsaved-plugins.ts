/** Unsaved plugins for dry runs: an uploaded one, or the newest stored version, compiled without being stored or activated. */
import { isDeepStrictEqual } from 'node:util';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { toPlugin } from './build-plugin.ts';
import type { FolderPlugin } from './folders/read-plugin.ts';
import type { Manifest } from './manifest/manifest.ts';
import type { Plugin } from './plugin.ts';
import { readUploadedPlugin } from './plugin-body.ts';
import type { PluginLoader } from './plugin-loader.ts';
import type { PluginViews } from './plugin-views.ts';

export interface PluginDraftsDeps {
  readonly loader: PluginLoader;
  readonly shown: PluginViews;
  readonly sandbox: Pick<Sandbox, 'check'> | null;
}

/** The uploaded parts of an unsaved plugin; the rest is as stored. */
export interface UnsavedPluginRequest {
  readonly manifest?: unknown;
  readonly files?: Readonly<Record<string, string>>;
}

export class PluginDrafts {
  readonly #deps: PluginDraftsDeps;

  constructor(deps: PluginDraftsDeps) {
    this.#deps = deps;
  }

  /**
   * A plugin for a dry run. None of its functions is quarantined. It has the secrets of the stored plugin, unless that is in a
   * folder and the uploaded code differs: such a plugin cannot be changed over HTTP, so uploaded code must not read its secrets.
   * @param readsUsers whether the caller may read users
   * @throws MillraceError `plugin-not-found` where a missing part is not stored, `invalid-body`, `invalid-plugin`
   */
  async make(name: string, { manifest, files }: UnsavedPluginRequest, readsUsers: boolean): Promise<Plugin> {
    const { loader, shown, sandbox } = this.#deps;
    const stored = manifest === undefined || files === undefined ? (await shown.one(name)).plugin : null;
    const body = { manifest: manifest ?? stored?.manifest, files: files ?? stored?.files };
    const sent = await readUploadedPlugin(body, { name, readsUsers, sandbox });
    const bundle = { id: sent.bundle, files: new Map(sent.files.map(({ path, text, code }) => [path, code ?? text])) };
    const known = loader.loaded.find((one) => one.name === name);
    const isGiven = known !== undefined && (known.folder === null || isSame(known.folder, sent.manifest, body.files));
    const usable = { manifest: sent.manifest, bundle, version: 'draft', readsUsers };
    const secrets = isGiven ? known.secrets.open() : {};
    return toPlugin(usable, { from: 'database', enabled: true, quarantined: [], secrets });
  }
}

/** Whether an unsaved plugin equals the one in the folder. */
function isSame(folder: FolderPlugin, manifest: Manifest, files: UnsavedPluginRequest['files']): boolean {
  return (
    isDeepStrictEqual(folder.manifest, manifest) && isDeepStrictEqual(Object.fromEntries(folder.files), { ...files })
  );
}
