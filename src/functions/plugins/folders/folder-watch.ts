/** Watches folders for changes, without polling. Changes close together are reported once. */
import { type FSWatcher, watch } from 'node:fs';
import type { WatchedFolder } from './plugin-folders.ts';

/** Milliseconds from a change to its report: programs that save a file change it several times. */
const DELAY_MS = 100;

export interface FolderWatchDeps {
  readonly onChange: () => void;
  /** Called when a folder cannot be watched, such as when the system limit of watches is reached. */
  readonly onError: (error: unknown) => void;
}

export class FolderWatch {
  readonly #deps: FolderWatchDeps;
  readonly #watchers = new Map<string, { readonly folder: WatchedFolder; readonly watcher: FSWatcher }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: FolderWatchDeps) {
    this.#deps = deps;
  }

  /**
   * Watches exactly these folders.
   * @returns whether one of them was not watched before: earlier changes in it were not noticed
   */
  watch(folders: ReadonlyMap<string, WatchedFolder>): boolean {
    for (const [path, { folder, watcher }] of this.#watchers) {
      const requested = folders.get(path);
      if (requested?.inode === folder.inode && requested.only === folder.only) continue;
      watcher.close();
      this.#watchers.delete(path);
    }
    const fresh = [...folders].filter(([path]) => !this.#watchers.has(path));
    for (const [path, folder] of fresh) this.#begin(path, folder);
    return fresh.some(([path]) => this.#watchers.has(path));
  }

  stop(): void {
    clearTimeout(this.#timer);
    for (const { watcher } of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #begin(path: string, folder: WatchedFolder): void {
    try {
      const watcher = watch(path, { persistent: false }, (_kind, name) => {
        if (folder.only === null || name === null || name === folder.only) this.#changed();
      });
      watcher.on('error', (error) => {
        this.#watchers.delete(path);
        watcher.close();
        this.#deps.onError(error);
      });
      this.#watchers.set(path, { folder, watcher });
    } catch (error) {
      // It may have been deleted since it was found; then the watch of a parent folder reports it.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) this.#deps.onError(error);
    }
  }

  #changed(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#deps.onChange();
    }, DELAY_MS).unref();
  }
}
