/** Errors that only code inside a function sees. */
import { MillraceError } from '../../../lib/errors.ts';

export function functionLimitError(message: string): MillraceError {
  return new MillraceError('function-limits-exceeded', message);
}

/** An operation of a call that has ended. */
export function callEndedError(): MillraceError {
  return functionLimitError('The call has ended');
}
