/** The error code of the closed table that a call ends with. */
import { MillraceError } from '../../src/kernel/errors.ts';

/** The code of the error that `run` throws, or `none`; other errors are thrown on. */
export function codeOf(run: () => unknown): string {
  try {
    run();
    return 'none';
  } catch (error) {
    if (error instanceof MillraceError) return error.code;
    throw error;
  }
}
