/** The current plugins in folders, read again on every change of the folders. */
import { FolderWatch } from './folder-watch.ts';
import { findPlugins } from './plugin-folders.ts';
import type { FolderPlugin } from './read-plugin.ts';

/** Maximum consecutive reads while new folders appear. */
const MOST_READINGS = 5;

export interface FolderPluginsDeps {
  readonly folders: readonly string[];
  /** Called when the content of a plugin changes, or a plugin is added or removed. */
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
}

export class FolderPlugins {
  readonly #deps: FolderPluginsDeps;
  readonly #watch: FolderWatch;
  #found: readonly FolderPlugin[] = [];
  #reading: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(deps: FolderPluginsDeps) {
    this.#deps = deps;
    const { onChange, onError } = deps;
    this.#watch = new FolderWatch({
      onChange: () => {
        this.#reading = this.#reading
          .then(async () => {
            if (await this.#read()) onChange();
          })
          .catch(onError);
      },
      onError,
    });
  }

  /** The result of the last read. */
  get found(): readonly FolderPlugin[] {
    return this.#found;
  }

  async start(): Promise<void> {
    await this.#read();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#watch.stop();
    await this.#reading;
  }

  /** @returns whether anything changed */
  async #read(): Promise<boolean> {
    const before = this.#found;
    for (let times = 0; times < MOST_READINGS && !this.#stopped; times += 1) {
      const { plugins, watched } = await findPlugins(this.#deps.folders);
      this.#found = plugins;
      if (this.#stopped || !this.#watch.watch(watched)) break;
    }
    const text = (found: readonly FolderPlugin[]) =>
      JSON.stringify(found.map(({ folder, digest }) => [folder, digest]));
    return text(before) !== text(this.#found);
  }
}
