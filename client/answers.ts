/** Reads an answer of the server: JSON, or a Problem. Not here: sending the request (requests.ts). */
import { Problem, type ProblemDocument } from './problem.ts';

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
