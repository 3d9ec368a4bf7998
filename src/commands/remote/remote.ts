/** The running Millrace that a command talks to, over HTTP like any client. Every failure is an error with one clear line. */
import Type, { type Static, type TSchema } from 'typebox';
import { Check } from 'typebox/schema';
import { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { isPlainObject } from '../../lib/plain-object.ts';

/** A person typed the URLs that these commands call, so none of them is forbidden. */
export const UNRESTRICTED_EGRESS = { mode: 'development', allow: ['0.0.0.0/0', '::/0'] } as const;

const RESPONSE_MS = 30_000;
/** Maximum characters of an error body of a stream. */
const MAX_PROBLEM = 16_384;
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** One invalid value in the body. */
const ISSUE = Type.Object({
  pointer: Type.String(),
  detail: Type.String(),
  file: Type.Optional(Type.String()),
  line: Type.Optional(Type.Number()),
  column: Type.Optional(Type.Number()),
});

export type ServerErrorIssue = Static<typeof ISSUE>;

/** An error response of the server. */
export class ServerErrorResponse extends Error {
  readonly status: number;
  /** From the table of errors; empty if the response is not from Millrace. */
  readonly code: string;
  readonly issues: readonly ServerErrorIssue[];

  constructor(status: number, message: string, code = '', issues: readonly ServerErrorIssue[] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.issues = issues;
  }
}

export class RemoteServer {
  /** Without a trailing slash. */
  readonly url: string;
  readonly #token: string | undefined;
  readonly #egress = new Egress(UNRESTRICTED_EGRESS);

  /**
   * @param url of Millrace
   * @param token an access token or an API key; not needed in development mode
   */
  constructor(url: string, token: string | undefined) {
    this.url = url.replace(/\/+$/, '');
    this.#token = token;
  }

  /**
   * Sends a request and parses its JSON response.
   * @param schema minimum content of the response
   * @throws ServerErrorResponse for a response that is not 2xx, Error without a response or with an unexpected one
   */
  async request<T extends TSchema>(schema: T, method: string, path: string, body?: object): Promise<Static<T>> {
    const response = await this.#send(method, path, body);
    const text = await response.text();
    const json = parsed(text);
    if (!response.ok) throw this.#refused(response.status, `${method} ${path}`, json ?? text);
    if (!Check(schema, json)) throw new Error(`${this.url}${path} returned an unexpected response: ${short(text)}`);
    return json;
  }

  /**
   * Sends a request whose response has no body.
   * @throws as `ask` does
   */
  async requestNoContent(method: string, path: string): Promise<void> {
    const response = await this.#send(method, path, undefined);
    const text = await response.text();
    if (!response.ok) throw this.#refused(response.status, `${method} ${path}`, parsed(text) ?? text);
  }

  /**
   * Requests a text response.
   * @throws as `ask` does
   */
  async text(path: string): Promise<string> {
    const response = await this.#send('GET', path, undefined);
    const text = await response.text();
    if (!response.ok) throw this.#refused(response.status, `GET ${path}`, parsed(text) ?? text);
    return text;
  }

  /**
   * Requests a streaming response, and reads it as it arrives.
   * @returns its bytes, until the signal or the server ends it
   * @throws as `ask` does, before the first byte
   */
  async follow(path: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const headers = { ...this.#credential(), accept: 'text/event-stream' };
    const { status, body } = await this.#explainUnreachable(() =>
      this.#egress.follow(`${this.url}${path}`, { headers, signal }),
    );
    if (status === 200) return body;
    let text = '';
    for await (const part of body) text = short(text + Buffer.from(part).toString('utf8'), MAX_PROBLEM);
    throw this.#refused(status, `GET ${path}`, parsed(text) ?? text);
  }

  async close(): Promise<void> {
    await this.#egress.close();
  }

  #credential(): Record<string, string> {
    return this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
  }

  async #send(method: string, path: string, body: object | undefined): Promise<Response> {
    const headers = { ...this.#credential(), ...(body && { 'content-type': 'application/json' }) };
    const init = { method, headers, redirect: 'error', ...(body && { body: JSON.stringify(body) }) } as const;
    const limits = { timeoutMs: RESPONSE_MS, maxBytes: MAX_RESPONSE_BYTES };
    return this.#explainUnreachable(() => this.#egress.fetch(`${this.url}${path}`, init, limits));
  }

  /** Explains in words for a terminal why the server cannot be reached. */
  async #explainUnreachable<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      if (error.kind === 'blocked-url') throw new Error(`--url ${this.url}: ${error.message}`);
      if (error.kind !== 'unreachable' && error.kind !== 'unknown-host') throw error;
      throw new Error(
        `No server responds at ${this.url}. Start one in another terminal with npm start, or use --url …`,
      );
    }
  }

  #refused(status: number, what: string, problem: unknown): ServerErrorResponse {
    const { detail, hint, errors, code } = isPlainObject(problem) ? problem : { detail: short(String(problem)) };
    const issues = Array.isArray(errors) ? errors.filter((issue) => Check(ISSUE, issue)) : [];
    const lines = [`${what} failed with ${status}: ${detail}`];
    if (typeof hint === 'string') lines.push(hint);
    if (status === 401) lines.push('Use a valid credential: --token with an access token or an API key');
    return new ServerErrorResponse(status, lines.join('\n'), typeof code === 'string' ? code : '', issues);
  }
}

/** The value of a JSON text; undefined for another text, which a proxy may have sent. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function short(text: string, most = 200): string {
  return text.slice(0, most);
}
