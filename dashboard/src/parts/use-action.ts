/** Something that a person does with a button: whether it is on its way, and how it failed. */
import { useState } from 'react';

export interface Acting {
  readonly busy: boolean;
  /** Null until it fails, and again when it is tried anew. */
  readonly error: unknown;
  /** @returns true when it worked */
  readonly run: (act: () => Promise<unknown>) => Promise<boolean>;
}

export function useAction(): Acting {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async (act: () => Promise<unknown>) => {
    setBusy(true);
    setError(null);
    try {
      await act();
      return true;
    } catch (problem) {
      setError(problem);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, run };
}
