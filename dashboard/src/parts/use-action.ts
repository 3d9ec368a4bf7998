/** Something that a person does with a button: whether it is on its way, and how it failed. */
import { useState } from 'react';
import { tellFailure } from './failure.tsx';

interface ToldAction {
  readonly busy: boolean;
  /** @returns true when it worked */
  readonly run: (act: () => Promise<unknown>) => Promise<boolean>;
}

export interface Acting extends ToldAction {
  /** Null until it fails, and again when it is tried anew. */
  readonly error: unknown;
}

/**
 * For what has a place where its failure stays, such as a form.
 * @param before a failure from before the first try, such as of a sign-in elsewhere
 */
export function useAction(before: unknown = null): Acting {
  const [error, setError] = useState<unknown>(before);
  const { busy, run } = useToldAction(setError);
  const runAnew = (act: () => Promise<unknown>) => {
    setError(null);
    return run(act);
  };
  return { busy, error, run: runAnew };
}

/** For what has no such place: a failure is shown for a moment, or told to `tell`. */
export function useToldAction(tell: (error: unknown) => void = tellFailure): ToldAction {
  const [busy, setBusy] = useState(false);
  const run = async (act: () => Promise<unknown>) => {
    setBusy(true);
    try {
      await act();
      return true;
    } catch (problem) {
      tell(problem);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, run };
}
