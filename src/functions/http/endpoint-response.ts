/** The HTTP response for the outcome of a call: status, headers and body, or an error. Pure. */
import { type ErrorOptions, MillraceError } from '../../lib/errors.ts';
import { callErrorCause, callErrorHeaders, genericErrorMessage } from '../calling/function-error.ts';
import { filterResponseHeaders } from '../endpoints/response-filter.ts';
import type { CallOutcome, FunctionResponse } from '../sandbox/sandbox.ts';

/**
 * Content security policy for a response opened as a page: no scripts, and an opaque origin, so that it cannot reach
 * data that the browser stores for this origin.
 */
const SANDBOX = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export interface CallResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
}

/**
 * @param fn `plugin/name`
 * @param isReported whether the client gets messages of the code (`maySeeErrorDetails`)
 * @param run id of the run, if it is stored
 * @throws MillraceError for a failed call (a `CallErrorCode`) and for a Refusal (`rejected-by-function`)
 */
export function toCallResponse(
  outcome: CallOutcome,
  fn: string,
  isReported: boolean,
  run: string | null,
): CallResponse {
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
      return toResponse(outcome.response, named);
    case 'refusal':
      throw new MillraceError('rejected-by-function', outcome.message, options);
    case 'error': {
      const { code, message } = outcome;
      const headers = { ...named, ...callErrorHeaders(code) };
      const reported = isReported ? message : genericErrorMessage(code, 'The function');
      throw new MillraceError(code, reported, { headers, cause: callErrorCause(outcome, fn) });
    }
    default:
      return outcome satisfies never;
  }
}

function toResponse(
  { status, headers, body, base64 }: FunctionResponse,
  named: Readonly<Record<string, string>>,
): CallResponse {
  const sent = filterResponseHeaders(headers);
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
