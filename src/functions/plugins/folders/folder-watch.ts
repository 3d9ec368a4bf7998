/**
 * Notices changes in folders, without asking again and again. Several changes at about one time are told once. Not here: which
 * folders (plugin-folders.ts), and what has changed.
 */
import { type FSWatcher, watch } from 'node:fs';
import type { WatchedFolder } from './plugin-folders.ts';

/** Milliseconds from a change until it is told: a program that saves a file changes it several times. */
const DELAY_MS = 100;

export interface FolderWatchParts {
  readonly onChange: () => void;
  /** Called when a folder cannot be watched, such as when the system allows no more watches. */
  readonly onError: (error: unknown) => void;
}

export class FolderWatch {
  readonly #parts: FolderWatchParts;
  readonly #watchers = new Map<string, { readonly folder: WatchedFolder; readonly watcher: FSWatcher }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: FolderWatchParts) {
    this.#parts = parts;
  }

  /**
   * Watches exactly these folders.
   * @returns whether one of them was not watched before: what changed in it meanwhile was not noticed
   */
  watch(folders: ReadonlyMap<string, WatchedFolder>): boolean {
    for (const [path, { folder, watcher }] of this.#watchers) {
      const wanted = folders.get(path);
      if (wanted?.inode === folder.inode && wanted.only === folder.only) continue;
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
        this.#parts.onError(error);
      });
      this.#watchers.set(path, { folder, watcher });
    } catch (error) {
      // It may be gone since it was found; then a folder above it tells so.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) this.#parts.onError(error);
    }
  }

  #changed(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#parts.onChange();
    }, DELAY_MS).unref();
  }
}
