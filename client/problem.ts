/**
 * A refusal by the server as an error, the problem document of RFC 9457 with Millrace's stable `code`; and how an answer of the
 * server is read: JSON, or such a Problem.
 */

export interface ProblemDocument {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail?: string;
  readonly hint?: string;
  /** Of `mfa-required`: with it the sign-in goes on at `POST /auth/mfa/login`. */
  readonly ticket?: string;
  readonly errors?: readonly { readonly pointer: string; readonly code: string; readonly detail: string }[];
}

export class Problem extends Error {
  override readonly name = 'Problem';
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

export interface Answered {
  readonly body: unknown;
  readonly headers: Headers;
}

/** @throws Problem a refusal by the server, or an answer that is not the server's, such as an error page of a proxy */
export async function readAnswer(answer: Response): Promise<Answered> {
  const text = await answer.text();
  const body: unknown = text === '' ? null : parse(text);
  if (answer.ok) return { body, headers: answer.headers };
  throw new Problem(isProblem(body) ? body : unreadable(answer.status));
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
  return { status, code: 'unreadable-answer', title: `The server answered ${status} without saying why` };
}
