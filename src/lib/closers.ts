/**
 * A stack of opened resources, closed in reverse order at the end of the program, or by a start that fails half way.
 */
export class CleanupStack {
  readonly #steps: (() => unknown)[] = [];

  /**
   * Registers how to close something, next to the line that opens it.
   * @param close runs once; what was added later is closed before it
   * @returns `opened` itself
   */
  add<T>(opened: T, close: (opened: T) => unknown): T {
    this.#steps.push(() => close(opened));
    return opened;
  }

  /**
   * Closes everything, newest first. All steps run even if some fail.
   * @throws the error of the first step that failed, after all have run
   */
  async close(): Promise<void> {
    const errors: unknown[] = [];
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
