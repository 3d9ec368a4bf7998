/**
 * Values that functions throw and return inside an isolate: MillraceError, Refusal and Response, and a bounded text for any
 * thrown value. Sent to the isolate as text, so it references nothing outside itself.
 */
import type { BodyStream, BodyUtils, OutgoingBody } from './bodies.ts';

/** An error of a host operation, as the server sends it. */
export interface HostError {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly details: unknown;
}

/** A thrown value as text. */
export interface ThrownError {
  readonly message: string;
  readonly stack: string | null;
  readonly refusal: { readonly code: string | null; readonly pointer: string | null } | null;
}

export interface ResponseData {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: OutgoingBody | BodyStream;
}

export interface OutcomeUtils {
  readonly globals: Readonly<Record<string, unknown>>;
  readonly makeError: (error: HostError) => Error;
  readonly describe: (thrown: unknown) => ThrownError;
  /** The parts of a Response of this isolate; null for any other value. */
  readonly responseOf: (value: unknown) => ResponseData | null;
  /** Entries of a record or an array of pairs, as text in a record without a prototype; names in lower case. */
  readonly headersOf: (given: unknown) => Readonly<Record<string, string>>;
}

/** Runs in an isolate, before any author code. */
export function makeOutcomeUtils(bodies: BodyUtils): OutcomeUtils {
  const uncurry = Function.prototype.bind.bind(Function.prototype.call) as <T, A extends unknown[], R>(
    fn: (this: T, ...rest: A) => R,
  ) => (self: T, ...rest: A) => R;
  const slice = uncurry(String.prototype.slice);
  const lower = uncurry(String.prototype.toLowerCase);
  const lines = uncurry(String.prototype.split as (this: string, by: string) => string[]);
  const includes = uncurry(String.prototype.includes);
  const { stringify } = JSON;
  const { isArray } = Array;
  const { create, keys } = Object;
  const { ownOptions } = bodies;
  const MAX_MESSAGE = 2_000;
  const MAX_STACK = 8_000;
  const MAX_HEADERS = 100;
  const EMPTY_STATUS = [204, 205, 304];

  const headersOf = (given: unknown): Readonly<Record<string, string>> => {
    const headers: Record<string, string> = create(null);
    if (given === undefined || given === null) return headers;
    if (typeof given !== 'object') throw new TypeError('Headers must be an object, or an array of pairs');
    let count = 0;
    const add = (name: unknown, value: unknown) => {
      count += 1;
      if (count > MAX_HEADERS) throw new RangeError(`There can be at most ${MAX_HEADERS} headers`);
      headers[lower(`${name}`)] = `${value}`;
    };
    if (isArray(given)) for (const pair of given) add(pair[0], pair[1]);
    else for (const name of keys(given)) add(name, (given as Record<string, unknown>)[name]);
    return headers;
  };

  class MillraceError extends Error {
    readonly code: string;
    readonly status: number;
    readonly details: unknown;
    constructor(error: HostError) {
      super(error.message);
      this.name = 'MillraceError';
      this.code = error.code;
      this.status = error.status;
      this.details = error.details;
    }
  }

  class Refusal extends Error {
    #location: { readonly code: string | null; readonly pointer: string | null };
    constructor(text: unknown = '', given: { code?: unknown; pointer?: unknown } = {}) {
      super(`${text}`);
      this.name = 'Refusal';
      const { code, pointer } = ownOptions(given);
      this.#location = {
        code: code === undefined || code === null ? null : slice(`${code}`, 0, 100),
        pointer: pointer === undefined || pointer === null ? null : slice(`${pointer}`, 0, 1_000),
      };
    }
    get code(): string | null {
      return this.#location.code;
    }
    get pointer(): string | null {
      return this.#location.pointer;
    }
    static positionOf(value: unknown): { readonly code: string | null; readonly pointer: string | null } | null {
      return typeof value === 'object' && value !== null && #location in value ? value.#location : null;
    }
  }
  const { positionOf } = Refusal;
  Reflect.deleteProperty(Refusal, 'positionOf');

  class Response {
    #deps: ResponseData;
    constructor(body: unknown = null, given: { status?: unknown; headers?: unknown } = {}) {
      const options = ownOptions(given);
      const status = options.status === undefined ? 200 : Number(options.status);
      if (!(status >= 200 && status <= 599) || status % 1 !== 0)
        throw new RangeError('The status must be from 200 to 599');
      const headers = headersOf(options.headers);
      const taken = bodies.take(body);
      if (taken !== null && (status === EMPTY_STATUS[0] || status === EMPTY_STATUS[1] || status === EMPTY_STATUS[2])) {
        throw new TypeError(`A response with status ${status} has no body`);
      }
      const type = typeof taken === 'string' ? 'text/plain; charset=utf-8' : bodies.typeOf(body);
      if (type !== null) (headers as Record<string, string>)['content-type'] ??= type;
      this.#deps = { status, headers, body: taken };
    }
    static json(value: unknown, given: { status?: unknown; headers?: unknown } = {}): Response {
      const text = stringify(value);
      if (text === undefined) throw new TypeError('The value cannot be serialized as JSON');
      const options = ownOptions(given);
      const headers = headersOf(options.headers) as Record<string, string>;
      headers['content-type'] ??= 'application/json; charset=utf-8';
      return new Response(text, { status: options.status, headers });
    }
    get status(): number {
      return this.#deps.status;
    }
    static partsOf(value: unknown): ResponseData | null {
      return typeof value === 'object' && value !== null && #deps in value ? value.#deps : null;
    }
  }
  const { partsOf } = Response;
  Reflect.deleteProperty(Response, 'partsOf');

  /** Frames of the author's files; those of the bootstrap program are removed. */
  const ownFrames = (stack: string): string => {
    let text = '';
    for (const line of lines(slice(stack, 0, 4 * MAX_STACK), '\n')) {
      if (!includes(line, 'millrace:inside') && !includes(line, '<isolated-vm'))
        text += text === '' ? line : `\n${line}`;
    }
    return slice(text, 0, MAX_STACK);
  };

  /** Reads a value of the code: every step can throw, or run code again. */
  const describe = (thrown: unknown): ThrownError => {
    let message = 'The function threw a value that cannot be shown';
    let stack: string | null = null;
    let refusal: ThrownError['refusal'] = null;
    try {
      refusal = positionOf(thrown);
      if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) {
        const [name, text] = ['name' in thrown ? thrown.name : '', slice(`${thrown.message}`, 0, MAX_MESSAGE)];
        const plain = refusal !== null || typeof name !== 'string' || name === '' || name === 'Error';
        message = plain ? text : slice(`${name}: ${text}`, 0, MAX_MESSAGE);
        if ('stack' in thrown && typeof thrown.stack === 'string') stack = ownFrames(thrown.stack);
      } else {
        message = slice(typeof thrown === 'object' ? (stringify(thrown) ?? '') : `${String(thrown)}`, 0, MAX_MESSAGE);
      }
    } catch {
      return { message, stack: null, refusal };
    }
    return { message, stack, refusal };
  };

  return {
    globals: { MillraceError, Refusal, Response },
    makeError: (error) => new MillraceError(error),
    describe,
    responseOf: partsOf,
    headersOf,
  };
}
