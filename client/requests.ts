/** Sends requests with the session's token and reads what comes back: JSON, or a Problem. */
import { Problem, type ProblemDocument } from './problem.ts';
import type { Session } from './session.ts';

export interface Asked {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly body: unknown;
  readonly headers: Headers;
}

export class Requests {
  readonly base: string;
  readonly session: Session;

  constructor(base: string, session: Session) {
    this.base = base;
    this.session = session;
  }

  /**
   * @param body JSON, or a FormData to send files
   * @throws Problem what the server refused; TypeError where it cannot be reached
   */
  async send(method: string, path: string, { body, headers = {} }: Asked = {}): Promise<Answered> {
    const first = await this.#fetch(method, path, body, headers);
    // A token can end between two clocks: it is refreshed and the request made again, once.
    if (first.status !== 401 || this.session.user === null) return await read(first);
    await first.body?.cancel();
    await this.session.refresh();
    return await read(await this.#fetch(method, path, body, headers));
  }

  async #fetch(
    method: string,
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<Response> {
    const token = await this.session.token();
    const form = body instanceof FormData;
    return await fetch(this.base + path, {
      method,
      headers: {
        ...(body === undefined || form ? {} : { 'content-type': 'application/json' }),
        ...headers,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: form ? body : JSON.stringify(body) }),
    });
  }
}

async function read(answer: Response): Promise<Answered> {
  const text = await answer.text();
  const body: unknown = text === '' ? null : parse(text);
  if (answer.ok) return { body, headers: answer.headers };
  throw new Problem(isProblem(body) ? body : unreadable(answer.status));
}

/** Something between us and the server may answer with a page of its own. */
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
