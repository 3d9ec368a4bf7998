/**
 * The question of the server for a fresh sign-in (docs/identity.md): the person proves again who they are, once for all
 * requests that wait for it. Not here: how it looks (shell/fresh-sign-in.tsx).
 */
import { session } from './session.ts';

class FreshSignIn {
  #asked: PromiseWithResolvers<boolean> | null = null;
  readonly #listeners = new Set<() => void>();

  get isAsked(): boolean {
    return this.#asked !== null;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** True when the person has proved it; false when they left the question, or the session is another one. */
  async ask(): Promise<boolean> {
    if (this.#asked !== null) return await this.#asked.promise;
    const asked = Promise.withResolvers<boolean>();
    this.#asked = asked;
    const forget = session.subscribe(() => this.answer(false));
    this.#tell();
    return await asked.promise.finally(forget);
  }

  answer(proved: boolean): void {
    const asked = this.#asked;
    this.#asked = null;
    asked?.resolve(proved);
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

export const freshSignIn = new FreshSignIn();
