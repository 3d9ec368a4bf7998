/** Async sequences that hold something open, such as a database cursor, until they are read to the end or closed. */

/** A reader that does not read to the end calls `return`, which closes what the sequence holds open. */
export interface ClosableIterator<T> extends AsyncIterableIterator<T> {
  return(value: undefined): Promise<IteratorResult<T>>;
}

/**
 * The whole sequence again, after its first step was taken to see an early error. Not a generator: a generator whose
 * reading never began would close nothing.
 * @param first the step that was taken
 */
export function resume<T>(first: IteratorResult<T>, rest: ClosableIterator<T>): ClosableIterator<T> {
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
