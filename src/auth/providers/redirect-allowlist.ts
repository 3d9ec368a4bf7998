/**
 * The redirect URLs at which a sign-in with a provider may end: those of the setting, and those that administrators
 * allow at run time, active in every process within a second.
 */
import type { ServerMode } from '../../config/config.ts';
import { isAllowedRedirect, redirectIssue } from '../../config/redirect-url-check.ts';
import type { ChangeStamp } from '../../database/system-collection.ts';
import { SETTINGS_COLLECTION } from '../../database/system-collection.ts';
import { Reloader } from '../../lib/concurrency/reloader.ts';
import { type Issue, MillraceError } from '../../lib/errors.ts';
import type { RedirectAllowlistRecord, RedirectStore } from './redirect-store.ts';

export interface RedirectAllowlistDeps {
  readonly store: RedirectStore;
  readonly mode: ServerMode;
  /** The URLs of the setting. */
  readonly fixed: readonly string[];
  readonly onError: (error: unknown) => void;
}

export class RedirectAllowlist {
  readonly #deps: RedirectAllowlistDeps;
  readonly reloader: Reloader;
  #allowed: readonly string[];

  constructor(deps: RedirectAllowlistDeps) {
    this.#deps = deps;
    this.#allowed = deps.fixed;
    this.reloader = new Reloader({
      read: () => this.#read(),
      concerns: (collection) => collection === SETTINGS_COLLECTION,
      onError: deps.onError,
    });
  }

  /** Whether a sign-in may end at this URL. */
  allows(address: string): boolean {
    return isAllowedRedirect(address, this.#allowed);
  }

  /** The URLs of the setting, which cannot be changed at run time. */
  get fixed(): readonly string[] {
    return this.#deps.fixed;
  }

  /** The URLs that administrators allow. */
  list(): Promise<RedirectAllowlistRecord> {
    return this.#deps.store.read();
  }

  /**
   * Replaces the addresses that administrators allow. They are active in this process when this resolves.
   * @param condition asked of the revision that is replaced; it throws to refuse
   * @throws MillraceError `invalid-body` with the places, `write-conflict`
   */
  async replace(
    redirectUrls: readonly string[],
    condition: (revision: number) => void,
    stamp: ChangeStamp,
  ): Promise<RedirectAllowlistRecord> {
    const { store, mode } = this.#deps;
    const issues = redirectUrls.flatMap((address, index): Issue[] => {
      const detail = redirectIssue(address, mode);
      return detail === null ? [] : [{ pointer: `/redirectUrls/${index}`, code: 'invalid-body', detail }];
    });
    const [first] = issues;
    if (first !== undefined) {
      throw new MillraceError('invalid-body', `A redirect URL cannot be allowed: ${first.pointer} ${first.detail}`, {
        issues,
      });
    }
    const { revision } = await store.read();
    condition(revision);
    if (!(await store.replace(redirectUrls, revision, stamp))) {
      throw new MillraceError('write-conflict', 'Another request is changing the redirect URLs', {
        headers: { 'retry-after': '1' },
      });
    }
    await this.reloader.reload();
    return { redirectUrls, revision: revision + 1 };
  }

  /** Of what another program wrote, or another mode allowed, only what may be allowed here. */
  async #read(): Promise<void> {
    const { store, mode, fixed } = this.#deps;
    const { redirectUrls } = await store.read();
    this.#allowed = [...fixed, ...redirectUrls.filter((address) => redirectIssue(address, mode) === null)];
  }
}
