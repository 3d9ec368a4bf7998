/** An action of a button: whether it is running, and its error. */
import { useState } from 'react';
import { reportFailure } from './failure.tsx';

interface ReportedAction {
  readonly busy: boolean;
  /** @returns true on success */
  readonly run: (act: () => Promise<unknown>) => Promise<boolean>;
}

export interface Acting extends ReportedAction {
  /** Null until it fails, and again on the next attempt. */
  readonly error: unknown;
}

/**
 * For actions whose failure is shown permanently, such as in a form.
 * @param before a failure from before the first attempt, such as of a sign-in elsewhere
 */
export function useAction(before: unknown = null): Acting {
  const [error, setError] = useState<unknown>(before);
  const { busy, run } = useActionWithNotice(setError);
  const runAnew = (act: () => Promise<unknown>) => {
    setError(null);
    return run(act);
  };
  return { busy, error, run: runAnew };
}

/** For other actions: a failure is shown for a moment, or passed to `tell`. */
export function useActionWithNotice(report: (error: unknown) => void = reportFailure): ReportedAction {
  const [busy, setBusy] = useState(false);
  const run = async (act: () => Promise<unknown>) => {
    setBusy(true);
    try {
      await act();
      return true;
    } catch (problem) {
      report(problem);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, run };
}
