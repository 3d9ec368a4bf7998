/**
 * What a client is told when a function failed. What the code said may name what the client may not know, so only owners and
 * development mode are told it. Pure. Not here: what is kept with the run (runs/).
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { ERRORS, MillraceError } from '../../kernel/errors.ts';
import type { CallFaultCode, CallOutcome } from '../sandbox/sandbox.ts';

type CallFault = Extract<CallOutcome, { kind: 'fault' }>;

const IN_GENERAL: Readonly<Record<CallFaultCode, string>> = {
  'function-failed': 'failed',
  'function-timeout': 'took too long',
  'function-out-of-memory': 'used too much memory',
  'function-runtime-restarted': 'was interrupted',
};

/** Who is told what the code of functions says when it fails. @param isDevelopment whether the server is in that mode */
export function isToldFaults(principal: Principal, isDevelopment: boolean): boolean {
  return isDevelopment || principal.kind === 'owner';
}

/** What a stranger is told of a fault: nothing of the code. @param subject the function, in words that do not name it */
export function faultInGeneral(code: CallFaultCode, subject: 'A function' | 'The function'): string {
  return `${subject} ${IN_GENERAL[code]}`;
}

/** The headers of the answer to a fault: whether it may pass. */
export function faultHeaders(code: CallFaultCode): Readonly<Record<string, string>> {
  return ERRORS[code].retryable ? { 'retry-after': '1' } : {};
}

/**
 * The error for a write that a function saw, and failed.
 * @param fn `plugin/name`
 * @param isTold whether the client is told what the code said
 */
export function faultError(fault: CallFault, fn: string, isTold: boolean): MillraceError {
  const { code, message } = fault;
  const told = isTold ? `${fn}: ${message}` : `${faultInGeneral(code, 'A function')}; nothing was done`;
  return new MillraceError(code, told, { headers: faultHeaders(code), cause: faultCause(fault, fn) });
}

/** The fault for the log: which function failed, and where in its author's code, not where that was noticed here. */
export function faultCause({ message, stack }: CallFault, fn: string): Error {
  return Object.assign(new Error(`${fn}: ${message}`), { stack: `${fn}: ${stack ?? message}` });
}
