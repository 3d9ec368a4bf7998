/** The bundles that a runner has loaded: each is sent once, and the least recently used are unloaded above a memory limit. */
import type { Bundle } from '../sandbox.ts';
import type { ServerMessage } from '../wire/messages.ts';

/** Maximum characters of all bundles in a runner. */
const MAX_CHARACTERS = 64 * 1_048_576;

export class LoadedBundles {
  readonly #send: (message: ServerMessage, body?: string) => void;
  /** Characters by id, the most recently used last. */
  readonly #sizes = new Map<string, number>();
  #held = 0;

  constructor(send: (message: ServerMessage, body?: string) => void) {
    this.#send = send;
  }

  /** Sends a bundle unless the runner has it. */
  ensureLoaded(bundle: Bundle): void {
    const known = this.#sizes.get(bundle.id);
    if (known !== undefined) {
      this.#sizes.delete(bundle.id);
      this.#sizes.set(bundle.id, known);
      return;
    }
    let size = 0;
    for (const [path, text] of bundle.files) size += path.length + text.length;
    for (const [id, held] of this.#sizes) {
      if (this.#held + size <= MAX_CHARACTERS) break;
      this.#sizes.delete(id);
      this.#held -= held;
      this.#send({ type: 'drop', bundle: id });
    }
    this.#sizes.set(bundle.id, size);
    this.#held += size;
    this.#send({ type: 'load', bundle: bundle.id }, JSON.stringify([...bundle.files]));
  }
}
