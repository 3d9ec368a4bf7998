/** A refusal by the server as an error: the problem document of RFC 9457, with Millrace's stable `code`. */

export interface ProblemDocument {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail?: string;
  readonly hint?: string;
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
