/**
 * Plugins that are only tried: a draft that was sent, or the newest version as it is stored, made whole without being stored or
 * put in force. Not here: trying one (try-out.ts).
 */
import type { Sandbox } from '../sandbox/sandbox.ts';
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
   * A plugin to try, with the secrets that its name has. None of its functions is in quarantine.
   * @param readsAccounts whether who asks may read accounts
   * @throws MillraceError `plugin-not-found` where something is left out that is not stored, `invalid-body`, `invalid-plugin`
   */
  async make(name: string, { manifest, files }: SentDraft, readsAccounts: boolean): Promise<Plugin> {
    const { loader, shown, sandbox } = this.#parts;
    const stored = manifest === undefined || files === undefined ? (await shown.one(name)).plugin : null;
    const body = { manifest: manifest ?? stored?.manifest, files: files ?? stored?.files };
    const sent = await readSentPlugin(body, { name, readsAccounts, sandbox });
    const bundle = { id: sent.bundle, files: new Map(sent.files.map(({ path, text, code }) => [path, code ?? text])) };
    const kept = loader.loaded.find((one) => one.name === name)?.secrets.open() ?? {};
    const usable = { manifest: sent.manifest, bundle, version: 'draft', readsAccounts };
    return toPlugin(usable, { from: 'database', enabled: true, quarantined: [], secrets: kept });
  }
}
