/**
 * What is answered for the outcome of a call: status, headers and body, or the error that a fault is. Pure. Not here: which
 * responses can be sent at all (kinds/endpoints/sendable.ts).
 */
import { type ErrorOptions, MillraceError } from '../../kernel/errors.ts';
import { faultCause, faultHeaders, faultInGeneral } from '../calling/fault-error.ts';
import { sentHeaders } from '../kinds/endpoints/sendable.ts';
import type { CallOutcome, FunctionResponse } from '../sandbox/sandbox.ts';

/**
 * What a browser may do with an answer that it opens as a page: show it, and nothing else. No script runs, and the sandbox
 * gives the page an origin of its own, so it cannot reach what this origin keeps in the browser.
 */
const SANDBOX = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export interface CallAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
}

/**
 * @param fn `plugin/name`
 * @param isTold whether the client may read what the code says of its fault (`isToldFaults`)
 * @param run id of the run, if it is kept
 * @throws MillraceError for a fault (a `CallFaultCode`) and for a Refusal (`refused-by-function`)
 */
export function answerOf(outcome: CallOutcome, fn: string, isTold: boolean, run: string | null): CallAnswer {
  const named: Record<string, string> = run === null ? {} : { 'millrace-run': run };
  const options: ErrorOptions = { headers: named };
  switch (outcome.kind) {
    case 'value':
      return {
        status: 200,
        headers: { 'content-type': 'application/json; charset=utf-8', 'content-security-policy': SANDBOX, ...named },
        body: outcome.value,
      };
    case 'response':
      return toAnswer(outcome.response, named);
    case 'refusal':
      throw new MillraceError('refused-by-function', outcome.message, options);
    case 'fault': {
      const { code, message } = outcome;
      const headers = { ...named, ...faultHeaders(code) };
      const told = isTold ? message : faultInGeneral(code, 'The function');
      throw new MillraceError(code, told, { headers, cause: faultCause(outcome, fn) });
    }
    default:
      return outcome satisfies never;
  }
}

function toAnswer(
  { status, headers, body, base64 }: FunctionResponse,
  named: Readonly<Record<string, string>>,
): CallAnswer {
  const sent = sentHeaders(headers);
  const hasBody = body !== null && !WITHOUT_BODY.has(status);
  const type = sent['content-type'] ?? (base64 ? 'application/octet-stream' : 'text/plain; charset=utf-8');
  const { 'content-type': _type, ...others } = sent;
  return {
    status,
    headers: {
      ...others,
      ...(hasBody ? { 'content-type': type } : {}),
      'content-security-policy': SANDBOX,
      ...named,
    },
    body: hasBody ? (base64 ? Buffer.from(body, 'base64') : body) : undefined,
  };
}
