/** Sends requests with the session's token. Not here: how answers are read (problem.ts). */
import { type Answered, Problem, readAnswer } from './problem.ts';
import type { Session } from './session.ts';

export interface Asked {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Hints that are remembered, so that each is written once. */
const MAX_HINTS = 100;

export class Requests {
  readonly base: string;
  readonly session: Session;
  readonly #hints = new Set<string>();

  constructor(base: string, session: Session) {
    this.base = base;
    this.session = session;
  }

  /**
   * @param body JSON, or a FormData to send files
   * @throws Problem a refusal by the server, or that the session has ended; TypeError if the server cannot be reached
   */
  async send(method: string, path: string, asked: Asked = {}): Promise<Answered> {
    const token = await this.session.token();
    const user = this.session.user?.id;
    const first = await this.#fetch(method, path, token, asked);
    // The token may have ended by the server's clock and not by ours. So it is refreshed, and the request is sent
    // again, once.
    if (first.status !== 401 || !this.session.renewable) return await readAnswer(first);
    // A wrong password or code is no fault of the token, and a second try would count as another guess.
    const problem = await readAnswer(first).catch((error: unknown) => error);
    if (problem instanceof Problem && problem.code === 'sign-in-failed') throw problem;
    await this.session.refresh(token);
    const renewed = await this.session.token();
    // Another user may have signed in meanwhile: a request of one user is not sent again for another.
    if (this.session.user?.id !== user) throw problem;
    return await readAnswer(await this.#fetch(method, path, renewed, asked));
  }

  async #fetch(method: string, path: string, token: string | null, { body, headers = {} }: Asked): Promise<Response> {
    const form = body instanceof FormData;
    const answer = await fetch(this.base + path, {
      method,
      headers: {
        ...(body === undefined || form ? {} : { 'content-type': 'application/json' }),
        ...headers,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: form ? body : JSON.stringify(body) }),
    });
    this.#warn(path, answer.headers.get('millrace-hint'));
    return answer;
  }

  /** Writes why an answer is probably not what was meant, for whoever writes the page. */
  #warn(path: string, hint: string | null): void {
    if (hint === null || this.#hints.has(hint) || this.#hints.size >= MAX_HINTS) return;
    this.#hints.add(hint);
    console.warn(`Millrace: ${hint} (${path})`);
  }
}
