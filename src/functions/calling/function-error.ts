/**
 * What a client learns about a failed function. Messages of the code may contain data that the client must not see, so
 * only administrators and development mode get them. Pure.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { ERRORS, MillraceError } from '../../lib/errors.ts';
import type { CallErrorCode, CallOutcome } from '../sandbox/sandbox.ts';

type CallError = Extract<CallOutcome, { kind: 'error' }>;

const IN_GENERAL: Readonly<Record<CallErrorCode, string>> = {
  'function-failed': 'failed',
  'function-timeout': 'took too long',
  'function-out-of-memory': 'used too much memory',
  'function-runtime-restarted': 'was interrupted',
};

/**
 * Whether the messages of failed functions are sent to the client.
 * @param isDevelopment whether the server is in development mode
 */
export function maySeeErrorDetails(principal: Principal, isDevelopment: boolean): boolean {
  return isDevelopment || principal.kind === 'admin';
}

/**
 * The error for clients without access to messages of the code.
 * @param subject the function, in words that do not name it
 */
export function genericErrorMessage(code: CallErrorCode, subject: 'A function' | 'The function'): string {
  return `${subject} ${IN_GENERAL[code]}`;
}

/** The response headers for an error: `Retry-After` if it may be temporary. */
export function callErrorHeaders(code: CallErrorCode): Readonly<Record<string, string>> {
  return ERRORS[code].retryable ? { 'retry-after': '1' } : {};
}

/**
 * The error for a write whose hook failed.
 * @param fn `plugin/name`
 * @param isReported whether the client gets the message of the code
 */
export function toCallError(issue: CallError, fn: string, isReported: boolean): MillraceError {
  const { code, message } = issue;
  const reported = isReported ? `${fn}: ${message}` : `${genericErrorMessage(code, 'A function')}; nothing was written`;
  return new MillraceError(code, reported, { headers: callErrorHeaders(code), cause: callErrorCause(issue, fn) });
}

/** The error for the log: the function and the location in its author's code, not the location in the server. */
export function callErrorCause({ message, stack }: CallError, fn: string): Error {
  return Object.assign(new Error(`${fn}: ${message}`), { stack: `${fn}: ${stack ?? message}` });
}
