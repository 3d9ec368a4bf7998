/**
 * Plugins that are only tried: a draft that was sent, or the newest version as it is stored, made whole without being stored or
 * put in force. Not here: trying one (try-out.ts).
 */
import { isDeepStrictEqual } from 'node:util';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { FolderPlugin } from './folders/read-plugin.ts';
import type { Manifest } from './manifest/manifest.ts';
import type { Plugin } from './plugin.ts';
import { readSentPlugin } from './plugin-body.ts';
import type { PluginLoader } from './plugin-loader.ts';
import type { ShownPlugins } from './shown-plugins.ts';
import { toPlugin } from './to-plugin.ts';

export interface DraftsParts {
  readonly loader: PluginLoader;
  readonly shown: ShownPlugins;
  readonly sandbox: Pick<Sandbox, 'check'> | null;
}

/** What was sent of a draft; the rest is as it is stored. */
export interface SentDraft {
  readonly manifest?: unknown;
  readonly files?: Readonly<Record<string, string>>;
}

export class Drafts {
  readonly #parts: DraftsParts;

  constructor(parts: DraftsParts) {
    this.#parts = parts;
  }

  /**
   * A plugin to try. None of its functions is in quarantine. It has the secrets of the stored plugin, unless that lies in a folder and
   * the draft differs from it: nobody can change such a plugin over HTTP, so nobody may have other code read its secrets.
   * @param readsAccounts whether who asks may read accounts
   * @throws MillraceError `plugin-not-found` where something is left out that is not stored, `invalid-body`, `invalid-plugin`
   */
  async make(name: string, { manifest, files }: SentDraft, readsAccounts: boolean): Promise<Plugin> {
    const { loader, shown, sandbox } = this.#parts;
    const stored = manifest === undefined || files === undefined ? (await shown.one(name)).plugin : null;
    const body = { manifest: manifest ?? stored?.manifest, files: files ?? stored?.files };
    const sent = await readSentPlugin(body, { name, readsAccounts, sandbox });
    const bundle = { id: sent.bundle, files: new Map(sent.files.map(({ path, text, code }) => [path, code ?? text])) };
    const known = loader.loaded.find((one) => one.name === name);
    const isGiven = known !== undefined && (known.folder === null || isSame(known.folder, sent.manifest, body.files));
    const usable = { manifest: sent.manifest, bundle, version: 'draft', readsAccounts };
    const secrets = isGiven ? known.secrets.open() : {};
    return toPlugin(usable, { from: 'database', enabled: true, quarantined: [], secrets });
  }
}

/** Whether a draft is what lies in the folder. */
function isSame(folder: FolderPlugin, manifest: Manifest, files: SentDraft['files']): boolean {
  return (
    isDeepStrictEqual(folder.manifest, manifest) && isDeepStrictEqual(Object.fromEntries(folder.files), { ...files })
  );
}
