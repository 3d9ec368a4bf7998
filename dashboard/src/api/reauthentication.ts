/**
 * Re-authentication, when the server requires it (docs/identity.md): the user signs in again, once for all
 * requests that wait for it.
 */
import { session } from './session.ts';

class Reauthentication {
  #requested: PromiseWithResolvers<boolean> | null = null;
  readonly #listeners = new Set<() => void>();

  get isRequested(): boolean {
    return this.#requested !== null;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** True after a successful re-authentication; false when the user canceled it, or the session is another one. */
  async request(): Promise<boolean> {
    if (this.#requested !== null) return await this.#requested.promise;
    const requested = Promise.withResolvers<boolean>();
    this.#requested = requested;
    const forget = session.subscribe(() => this.response(false));
    this.#report();
    return await requested.promise.finally(forget);
  }

  response(verified: boolean): void {
    const requested = this.#requested;
    this.#requested = null;
    requested?.resolve(verified);
    this.#report();
  }

  #report(): void {
    for (const listener of this.#listeners) listener();
  }
}

export const reauthentication = new Reauthentication();
