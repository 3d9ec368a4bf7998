/**
 * Errors of a test process that no test catches: they fail the tests, and the rest continues. It replaces tap's package
 * `async-hook-domain`, which makes Node call it for each promise that is created and collected: a fifth of the CPU time
 * of tests. The price is that such an error is reported for the process and not for the test in which it began. Import
 * it before tap.
 */
import { registerHooks } from 'node:module';

/** tap creates one for each test, and the first one of a process for all of it. */
export class Domain {
  static readonly #alive = new Set<Domain>();
  readonly #onError: (error: unknown, type: string) => void;

  /** @param onError called with the error and the name of the process's event */
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
  static report(error: unknown, type: string): void {
    const [first] = Domain.#alive;
    if (first !== undefined) first.#onError(error, type);
  }
}

function onException(error: unknown): void {
  Domain.report(error, 'uncaughtException');
}

function onRejection(error: unknown): void {
  Domain.report(error, 'unhandledRejection');
}

registerHooks({
  resolve: (name, context, next) =>
    name === 'async-hook-domain' ? { url: import.meta.url, shortCircuit: true } : next(name, context),
});
