/**
 * The members of a problem document (RFC 9457) that describe an error wherever it is told: in an answer, or on an open
 * connection. Pure. Not here: what an answer adds (http/problem.ts), and the table of codes (errors.ts).
 */
import { ERRORS, type ErrorCode, type Fault, type MillraceError } from './errors.ts';

export interface ProblemMembers {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly hint?: string;
  readonly errors?: readonly Fault[];
}

export function problemMembers({ code, message, hint, faults }: MillraceError): ProblemMembers {
  const { status, title } = ERRORS[code];
  return {
    type: `urn:millrace:error:${code}`,
    title,
    status,
    code,
    detail: message,
    ...(hint === undefined ? {} : { hint }),
    ...(faults.length === 0 ? {} : { errors: faults }),
  };
}
