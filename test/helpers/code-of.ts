/** The error code of the closed table with which a call fails. */
import { MillraceError } from '../../src/lib/errors.ts';

/** The code of the error that `run` throws, or `none`; other errors are rethrown. */
export function codeOf(run: () => unknown): string {
  try {
    run();
    return 'none';
  } catch (error) {
    if (error instanceof MillraceError) return error.code;
    throw error;
  }
}
