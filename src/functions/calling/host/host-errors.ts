/** Errors that only code inside a function sees, in one wording each. */
import { MillraceError } from '../../../kernel/errors.ts';

export function functionLimit(message: string): MillraceError {
  return new MillraceError('function-limit', message);
}

/** What was asked for in the name of a call that is over. */
export function callEnded(): MillraceError {
  return functionLimit('The call has ended');
}
