/**
 * The addresses that a sign-in by a provider may end at: those of the setting, and those that owners allow while the
 * program runs, in force in every process within a second. Not here: HTTP, and how addresses are compared
 * (kernel/config/redirects.ts).
 */
import type { Stamp } from '../../database/system-collection.ts';
import { Reloader } from '../../kernel/concurrency/reloader.ts';
import type { Mode } from '../../kernel/config/config.ts';
import { isAllowedRedirect, redirectFault } from '../../kernel/config/redirects.ts';
import { type Fault, MillraceError } from '../../kernel/errors.ts';
import { type KeptRedirects, type RedirectStore, SETTINGS_COLLECTION } from './redirect-store.ts';

export interface RedirectsParts {
  readonly store: RedirectStore;
  readonly mode: Mode;
  /** The addresses of the setting. */
  readonly fixed: readonly string[];
  readonly onError: (error: unknown) => void;
}

export class Redirects {
  readonly #parts: RedirectsParts;
  readonly reloader: Reloader;
  #allowed: readonly string[];

  constructor(parts: RedirectsParts) {
    this.#parts = parts;
    this.#allowed = parts.fixed;
    this.reloader = new Reloader({
      read: () => this.#read(),
      concerns: (collection) => collection === SETTINGS_COLLECTION,
      onError: parts.onError,
    });
  }

  /** Whether a sign-in may end at this address. */
  allows(address: string): boolean {
    return isAllowedRedirect(address, this.#allowed);
  }

  /** The addresses of the setting, which cannot be changed while the program runs. */
  get fixed(): readonly string[] {
    return this.#parts.fixed;
  }

  /** The addresses that owners allow. */
  list(): Promise<KeptRedirects> {
    return this.#parts.store.read();
  }

  /**
   * Replaces the addresses that owners allow. They are in force here when this resolves.
   * @param condition asked of the revision that is replaced; it throws to refuse
   * @throws MillraceError `invalid-body` with the places, `contention`
   */
  async replace(
    redirects: readonly string[],
    condition: (revision: number) => void,
    stamp: Stamp,
  ): Promise<KeptRedirects> {
    const { store, mode } = this.#parts;
    const faults = redirects.flatMap((address, index): Fault[] => {
      const detail = redirectFault(address, mode);
      return detail === null ? [] : [{ pointer: `/redirects/${index}`, code: 'invalid-body', detail }];
    });
    const [first] = faults;
    if (first !== undefined) {
      throw new MillraceError('invalid-body', `A redirect cannot be allowed: ${first.pointer} ${first.detail}`, {
        faults,
      });
    }
    const { revision } = await store.read();
    condition(revision);
    if (!(await store.replace(redirects, revision, stamp))) {
      throw new MillraceError('contention', 'Another request is changing the redirects', {
        headers: { 'retry-after': '1' },
      });
    }
    await this.reloader.reload();
    return { redirects, revision: revision + 1 };
  }

  /** Of what another program wrote, or was allowed in another mode, only what may be allowed here. */
  async #read(): Promise<void> {
    const { store, mode, fixed } = this.#parts;
    const { redirects } = await store.read();
    this.#allowed = [...fixed, ...redirects.filter((address) => redirectFault(address, mode) === null)];
  }
}
