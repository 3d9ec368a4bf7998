/** The fields of a problem document (RFC 9457) that describe an error in a response or on an open connection. */
import { ERRORS, type ErrorCode, type Issue, type MillraceError } from './errors.ts';

export interface ProblemFields {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly hint?: string;
  readonly errors?: readonly Issue[];
}

export function problemFields({ code, message, hint, issues }: MillraceError): ProblemFields {
  const { status, title } = ERRORS[code];
  return {
    type: `urn:millrace:error:${code}`,
    title,
    status,
    code,
    detail: message,
    ...(hint === undefined ? {} : { hint }),
    ...(issues.length === 0 ? {} : { errors: issues }),
  };
}
