/**
 * The running Millrace that a command talks to, over HTTP as any client does. Every failure is an error of one clear line.
 * Not here: what is asked (listen.ts, endpoint-table.ts, again.ts).
 */
import type { Static, TSchema } from 'typebox';
import { Check } from 'typebox/schema';
import { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { isPlain } from '../../kernel/objects.ts';

/** A person typed the addresses that these commands call. So there is none that must not be reached. */
export const EVERYWHERE = { mode: 'development', allow: ['0.0.0.0/0', '::/0'] } as const;

const ANSWER_MS = 30_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** A refusal by the server. */
export class Refused extends Error {
  readonly status: number;
  /** Places of the body that are wrong, as JSON pointers. */
  readonly pointers: readonly string[];

  constructor(status: number, message: string, pointers: readonly string[] = []) {
    super(message);
    this.status = status;
    this.pointers = pointers;
  }
}

export class Remote {
  /** Without a slash at the end. */
  readonly url: string;
  readonly #token: string | undefined;
  readonly #egress = new Egress(EVERYWHERE);

  /**
   * @param url where Millrace runs
   * @param token an access token or an API key; development mode needs none
   */
  constructor(url: string, token: string | undefined) {
    this.url = url.replace(/\/+$/, '');
    this.#token = token;
  }

  /**
   * Sends a request and reads its JSON answer.
   * @param schema what the answer must hold at least
   * @throws Refused for an answer that is not 2xx, Error when there is no answer or another one than expected
   */
  async ask<T extends TSchema>(schema: T, method: string, path: string, body?: object): Promise<Static<T>> {
    const answer = await this.#send(method, path, body);
    const text = await answer.text();
    const json = parsed(text);
    if (!answer.ok) throw this.#refused(answer.status, `${method} ${path}`, json ?? text);
    if (!Check(schema, json)) throw new Error(`${this.url}${path} answered with something unexpected: ${short(text)}`);
    return json;
  }

  /** Sends a request whose answer has no body. @throws as `ask` does */
  async tell(method: string, path: string): Promise<void> {
    const answer = await this.#send(method, path, undefined);
    const text = await answer.text();
    if (!answer.ok) throw this.#refused(answer.status, `${method} ${path}`, parsed(text) ?? text);
  }

  async close(): Promise<void> {
    await this.#egress.close();
  }

  async #send(method: string, path: string, body: object | undefined): Promise<Response> {
    const headers = new Headers();
    try {
      if (this.#token !== undefined) headers.set('authorization', `Bearer ${this.#token}`);
      if (body !== undefined) headers.set('content-type', 'application/json');
      const init = { method, headers, redirect: 'error', ...(body && { body: JSON.stringify(body) }) } as const;
      return await this.#egress.fetch(`${this.url}${path}`, init, { timeoutMs: ANSWER_MS, maxBytes: MAX_ANSWER_BYTES });
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      if (error.kind === 'refused-url') throw new Error(`--url ${this.url}: ${error.message}`);
      if (error.kind !== 'unreachable' && error.kind !== 'unknown-host') throw error;
      throw new Error(
        `No server answers at ${this.url}. Start one in another terminal with npm start, or name it: --url …`,
      );
    }
  }

  #refused(status: number, what: string, problem: unknown): Refused {
    const { detail, hint, errors } = isPlain(problem) ? problem : { detail: short(String(problem)) };
    const faults = Array.isArray(errors) ? errors.filter(isPlain) : [];
    const lines = [`${what} was answered with ${status}: ${detail}`];
    if (typeof hint === 'string') lines.push(hint);
    if (status === 401) lines.push('Name a credential that is valid: --token, an access token or an API key');
    return new Refused(
      status,
      lines.join('\n'),
      faults.map(({ pointer }) => String(pointer)),
    );
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

function short(text: string): string {
  return text.slice(0, 200);
}
