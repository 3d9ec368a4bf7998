/** Errors that only code inside a function sees. */
import { MillraceError } from '../../../lib/errors.ts';

export function functionLimit(message: string): MillraceError {
  return new MillraceError('function-limit-exceeded', message);
}

/** An operation of a call that has ended. */
export function callEnded(): MillraceError {
  return functionLimit('The call has ended');
}
