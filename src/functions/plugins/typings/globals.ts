/** Typings of globals: the only ones available to functions. There are no Node or browser globals. */
export const GLOBAL_TYPINGS = `
/** Thrown by a write hook: rejects the write with 422 and this text. */
declare class Refusal extends Error {
  /**
   * @param options.code an error code of your own
   * @param options.pointer the invalid field, as a JSON Pointer: /price
   */
  constructor(message: string, options?: { code?: string; pointer?: string });
  readonly code: string | null;
  readonly pointer: string | null;
}

/** The error of an operation of ctx, with the fields of an API error. */
declare class MillraceError extends Error {
  private constructor();
  readonly code: Millrace.ErrorCode | (string & {});
  readonly status: number;
  readonly details: unknown;
}

/** The response of an HTTP function, to set its status and headers. */
declare class Response {
  /** A stream has bytes or text. Use Response.json for other values. */
  constructor(body?: string | Bytes | ByteStream | URLSearchParams | null, options?: Response.Options);
  static json(value: unknown, options?: Response.Options): Response;
  readonly status: number;
}

type Bytes = ArrayBuffer | ArrayBufferView | Blob;
type ByteStream = AsyncIterable<Uint8Array | string> | Generator<Uint8Array | string>;

declare class Blob {
  constructor(parts?: Iterable<string | Bytes>, options?: { type?: string });
  readonly size: number;
  readonly type: string;
  slice(from?: number, to?: number, type?: string): Blob;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
  text(): Promise<string>;
  stream(): ReadableStream<Uint8Array>;
}

declare class ReadableStream<Chunk = Uint8Array> implements AsyncIterable<Chunk> {
  constructor(source?: {
    start?(controller: ReadableStream.Controller<Chunk>): void | Promise<void>;
    pull?(controller: ReadableStream.Controller<Chunk>): void | Promise<void>;
    cancel?(reason: unknown): void | Promise<void>;
  });
  static from<Chunk>(chunks: AsyncIterable<Chunk> | Iterable<Chunk>): ReadableStream<Chunk>;
  readonly locked: boolean;
  cancel(reason?: unknown): Promise<void>;
  getReader(): {
    read(): Promise<{ done: false; value: Chunk } | { done: true; value: undefined }>;
    cancel(reason?: unknown): Promise<void>;
    releaseLock(): void;
  };
  [Symbol.asyncIterator](): AsyncIterableIterator<Chunk>;
}

declare namespace ReadableStream {
  interface Controller<Chunk> {
    readonly desiredSize: number;
    enqueue(chunk: Chunk): void;
    close(): void;
    error(reason: unknown): void;
  }
}

declare namespace Response {
  interface Options {
    status?: number;
    headers?: { readonly [name: string]: string } | readonly (readonly [string, string])[];
  }
}

declare const console: {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  trace(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
};

/** Within the call: timers still pending when the function returns do not run. */
declare function setTimeout<Given extends unknown[]>(run: (...given: Given) => void, ms?: number, ...given: Given): number;
declare function clearTimeout(timer: number | undefined): void;
declare function structuredClone<T>(value: T): T;
declare function atob(base64: string): string;
declare function btoa(text: string): string;

declare const crypto: {
  randomUUID(): string;
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  readonly subtle: { digest(name: 'SHA-256', bytes: ArrayBuffer | ArrayBufferView): Promise<ArrayBuffer> };
};

declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array;
}

declare class TextDecoder {
  constructor(encoding?: 'utf-8' | 'utf8', options?: { fatal?: boolean });
  readonly encoding: string;
  decode(bytes?: ArrayBuffer | ArrayBufferView): string;
}

declare class URL {
  constructor(address: string | URL, base?: string | URL);
  static canParse(address: string | URL, base?: string | URL): boolean;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly searchParams: URLSearchParams;
  toString(): string;
  toJSON(): string;
}

declare class URLSearchParams implements Iterable<[string, string]> {
  constructor(given?: string | { readonly [name: string]: string } | Iterable<readonly [string, string]>);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(run: (value: string, name: string, all: URLSearchParams) => void): void;
  keys(): Iterable<string>;
  values(): Iterable<string>;
  entries(): IterableIterator<[string, string]>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}
`;
