/** Sends requests with the session's token. */
import { type ClientResponse, MillraceError, readResponse } from './problem.ts';
import type { Session } from './session.ts';

export interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Hints written so far, so that each is written once. */
const MAX_HINTS = 100;

export class HttpClient {
  readonly base: string;
  readonly session: Session;
  readonly #hints = new Set<string>();

  constructor(base: string, session: Session) {
    this.base = base;
    this.session = session;
  }

  /**
   * @param body JSON, or a FormData to send files
   * @throws MillraceError a refusal by the server, or that the session has ended; TypeError if the server cannot be reached
   */
  async send(method: string, path: string, requested: RequestOptions = {}): Promise<ClientResponse> {
    const token = await this.session.token();
    const user = this.session.user?.id;
    const first = await this.#fetch(method, path, token, requested);
    // The token may have expired by the server's clock and not by this one. So it is refreshed, and the request is sent again,
    // once.
    if (first.status !== 401 || !this.session.renewable) return await readResponse(first);
    // A wrong password or code is not caused by the token, and a second attempt would count as another guess.
    const problem = await readResponse(first).catch((error: unknown) => error);
    if (problem instanceof MillraceError && problem.code === 'invalid-credentials') throw problem;
    await this.session.refresh(token);
    const renewed = await this.session.token();
    // Another user may have signed in meanwhile: a request of one user is not sent again for another.
    if (this.session.user?.id !== user) throw problem;
    return await readResponse(await this.#fetch(method, path, renewed, requested));
  }

  async #fetch(
    method: string,
    path: string,
    token: string | null,
    { body, headers = {} }: RequestOptions,
  ): Promise<Response> {
    const form = body instanceof FormData;
    const response = await fetch(this.base + path, {
      method,
      headers: {
        ...(body === undefined || form ? {} : { 'content-type': 'application/json' }),
        ...headers,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: form ? body : JSON.stringify(body) }),
    });
    this.#warn(path, response.headers.get('millrace-hint'));
    return response;
  }

  /** Writes why a result is probably not the intended one, for the page's developer. */
  #warn(path: string, hint: string | null): void {
    if (hint === null || this.#hints.has(hint) || this.#hints.size >= MAX_HINTS) return;
    this.#hints.add(hint);
    console.warn(`Millrace: ${hint} (${path})`);
  }
}
