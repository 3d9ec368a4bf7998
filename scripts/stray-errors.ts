/**
 * Errors of a test process that no test catches: they fail the tests, and the rest goes on. Stands in for tap's way, the package
 * `async-hook-domain`, which asks Node to call it for each promise that is made and collected: a fifth of what tests compute. The
 * price is that such an error is told of the process and not of the test in which it began. Import it before tap. Not here:
 * what a test throws or rejects with, which tap catches itself.
 */
import { registerHooks } from 'node:module';

/** tap makes one for each test, and the first one of a process for all of it. */
export class Domain {
  static readonly #alive = new Set<Domain>();
  readonly #onError: (error: unknown, type: string) => void;

  /** @param onError given the error and the name of the process's event */
  constructor(onError: (error: unknown, type: string) => void) {
    this.#onError = onError;
    if (Domain.#alive.size === 0) {
      process.on('uncaughtException', onException);
      process.on('unhandledRejection', onRejection);
    }
    Domain.#alive.add(this);
  }

  /** After the last one such errors end the process, as they do without tap. */
  destroy(): void {
    Domain.#alive.delete(this);
    if (Domain.#alive.size > 0) return;
    process.off('uncaughtException', onException);
    process.off('unhandledRejection', onRejection);
  }

  /** Fails the tests of the process. */
  static tell(error: unknown, type: string): void {
    const [first] = Domain.#alive;
    if (first !== undefined) first.#onError(error, type);
  }
}

function onException(error: unknown): void {
  Domain.tell(error, 'uncaughtException');
}

function onRejection(error: unknown): void {
  Domain.tell(error, 'unhandledRejection');
}

registerHooks({
  resolve: (name, context, next) =>
    name === 'async-hook-domain' ? { url: import.meta.url, shortCircuit: true } : next(name, context),
});
