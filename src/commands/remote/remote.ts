/**
 * The running Millrace that a command talks to, over HTTP as any client does. Every failure is an error of one clear line.
 * Not here: what is asked
 * (webhooks/, functions/).
 */
import Type, { type Static, type TSchema } from 'typebox';
import { Check } from 'typebox/schema';
import { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { isPlain } from '../../kernel/objects.ts';

/** A person typed the addresses that these commands call. So there is none that must not be reached. */
export const EVERYWHERE = { mode: 'development', allow: ['0.0.0.0/0', '::/0'] } as const;

const ANSWER_MS = 30_000;
/** Characters that are read of a refusal of an answer that does not end. */
const MAX_PROBLEM = 16_384;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** One place of the body that is wrong. */
const FAULT = Type.Object({
  pointer: Type.String(),
  detail: Type.String(),
  file: Type.Optional(Type.String()),
  line: Type.Optional(Type.Number()),
  column: Type.Optional(Type.Number()),
});

export type RemoteFault = Static<typeof FAULT>;

/** A refusal by the server. */
export class Refused extends Error {
  readonly status: number;
  /** From the table of errors; empty where the answer is not of Millrace. */
  readonly code: string;
  readonly faults: readonly RemoteFault[];

  constructor(status: number, message: string, code = '', faults: readonly RemoteFault[] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.faults = faults;
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

  /** Asks for an answer that is text. @throws as `ask` does */
  async text(path: string): Promise<string> {
    const answer = await this.#send('GET', path, undefined);
    const text = await answer.text();
    if (!answer.ok) throw this.#refused(answer.status, `GET ${path}`, parsed(text) ?? text);
    return text;
  }

  /**
   * Asks for an answer that does not end, and reads it as it comes.
   * @returns its bytes, until the signal or the server ends it
   * @throws as `ask` does, before the first byte
   */
  async follow(path: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const headers = { ...this.#credential(), accept: 'text/event-stream' };
    const { status, body } = await this.#reached(() => this.#egress.follow(`${this.url}${path}`, { headers, signal }));
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
    const limits = { timeoutMs: ANSWER_MS, maxBytes: MAX_ANSWER_BYTES };
    return this.#reached(() => this.#egress.fetch(`${this.url}${path}`, init, limits));
  }

  /** Says in words of a person at a terminal why the server cannot be reached. */
  async #reached<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
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
    const { detail, hint, errors, code } = isPlain(problem) ? problem : { detail: short(String(problem)) };
    const faults = Array.isArray(errors) ? errors.filter((fault) => Check(FAULT, fault)) : [];
    const lines = [`${what} was answered with ${status}: ${detail}`];
    if (typeof hint === 'string') lines.push(hint);
    if (status === 401) lines.push('Name a credential that is valid: --token, an access token or an API key');
    return new Refused(status, lines.join('\n'), typeof code === 'string' ? code : '', faults);
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
