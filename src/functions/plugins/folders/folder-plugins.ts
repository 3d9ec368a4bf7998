/**
 * The plugins in folders as they are now, read again whenever something in the folders changes. Not here: what is done with them
 * (plugin-loader.ts).
 */
import { FolderWatch } from './folder-watch.ts';
import { findPlugins } from './plugin-folders.ts';
import type { FolderPlugin } from './read-plugin.ts';

/** Readings in a row at most, while new folders appear. */
const MOST_READINGS = 5;

export interface FolderPluginsParts {
  readonly folders: readonly string[];
  /** Called when the content of a plugin is another one, or a plugin came or went. */
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
}

export class FolderPlugins {
  readonly #parts: FolderPluginsParts;
  readonly #watch: FolderWatch;
  #found: readonly FolderPlugin[] = [];
  #reading: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: FolderPluginsParts) {
    this.#parts = parts;
    const { onChange, onError } = parts;
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

  /** As they were at the last reading. */
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

  /** @returns whether anything is different */
  async #read(): Promise<boolean> {
    const before = this.#found;
    for (let times = 0; times < MOST_READINGS && !this.#stopped; times += 1) {
      const { plugins, watched } = await findPlugins(this.#parts.folders);
      this.#found = plugins;
      if (this.#stopped || !this.#watch.watch(watched)) break;
    }
    const text = (found: readonly FolderPlugin[]) =>
      JSON.stringify(found.map(({ folder, digest }) => [folder, digest]));
    return text(before) !== text(this.#found);
  }
}
