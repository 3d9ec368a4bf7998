/** Async sequences that keep a resource open, such as a database cursor, until they are read to the end or closed. */

/** A reader that stops early calls `return`, which closes the resource. */
export interface ClosableIterator<T> extends AsyncIterableIterator<T> {
  return(value: undefined): Promise<IteratorResult<T>>;
}

/**
 * The whole sequence again, after its first step was read to detect an early error. Not a generator: a generator that
 * was never read would close nothing.
 * @param first the result of the first step
 */
export function prependFirst<T>(first: IteratorResult<T>, rest: ClosableIterator<T>): ClosableIterator<T> {
  let taken: IteratorResult<T> | undefined = first;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: async () => {
      const step = taken ?? rest.next();
      taken = undefined;
      return step;
    },
    return: (value) => rest.return(value),
  };
}
