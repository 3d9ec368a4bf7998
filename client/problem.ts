/**
 * A refusal by the server as an error, the problem document of RFC 9457 with Millrace's stable `code`; and how an answer of the
 * server is read: JSON, or such an error.
 */

export interface ProblemDocument {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail?: string;
  readonly hint?: string;
  /** Of `mfa-required`: pass it to `POST /auth/mfa/login` to continue the sign-in. */
  readonly ticket?: string;
  readonly errors?: readonly { readonly pointer: string; readonly code: string; readonly detail: string }[];
}

export class MillraceError extends Error {
  override readonly name = 'MillraceError';
  readonly status: number;
  /** Stable, for programs to decide by. docs/errors.md has the list. */
  readonly code: string;
  readonly problem: ProblemDocument;

  constructor(problem: ProblemDocument) {
    super(problem.detail ?? problem.title);
    this.status = problem.status;
    this.code = problem.code;
    this.problem = problem;
  }
}

export interface ClientResponse {
  readonly body: unknown;
  readonly headers: Headers;
}

/** @throws MillraceError a refusal by the server, or an answer that is not the server's, such as an error page of a proxy */
export async function readResponse(response: Response): Promise<ClientResponse> {
  const text = await response.text();
  const body: unknown = text === '' ? null : parse(text);
  if (response.ok) return { body, headers: response.headers };
  throw new MillraceError(isProblem(body) ? body : unreadable(response.status));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isProblem(body: unknown): body is ProblemDocument {
  return typeof body === 'object' && body !== null && 'code' in body && 'status' in body;
}

function unreadable(status: number): ProblemDocument {
  return { status, code: 'invalid-response', title: `The server returned ${status} without saying why` };
}
