/**
 * Bodies inside an isolate: text, bytes, `Blob` and byte streams, as a Response, `ctx.fetch` and `ctx.files` accept them. Sent to
 * the isolate as text, so it references nothing outside itself.
 */
import type { EncodingUtils } from './encodings.ts';

/** A sequence of chunks of bytes or text. */
export interface BodyStream {
  readonly chunks: AsyncIterable<unknown> | Iterable<unknown>;
}

export type OutgoingBody = string | Uint8Array | null;

export interface BodyUtils {
  /** Own options only: what code of an earlier call put on a prototype is not one. */
  readonly ownOptions: <T>(given: T | undefined) => Partial<T>;
  /**
   * A body given by the code. Bytes are copied.
   * @throws TypeError for an unsupported object
   */
  readonly take: (given: unknown) => OutgoingBody | BodyStream;
  /** The media type of a Blob; null for others. */
  readonly typeOf: (given: unknown) => string | null;
  readonly isStreaming: (body: OutgoingBody | BodyStream) => body is BodyStream;
  /**
   * All bytes of a stream.
   * @throws RangeError above the limit
   */
  readonly collect: (body: BodyStream, maxBytes: number) => Promise<Uint8Array>;
  readonly globals: Readonly<Record<string, unknown>>;
}

/** Runs in an isolate, before any author code. */
export function makeBodyUtils(encodings: EncodingUtils): BodyUtils {
  const { isView } = ArrayBuffer;
  const [Bytes, Buffers] = [Uint8Array, ArrayBuffer];
  const plainText = Object.prototype.toString;
  const { isArray } = Array;
  const { assign, create } = Object;
  const ownOptions = <T>(given: T | undefined): Partial<T> => assign(create(null), given);
  const uncurry = Function.prototype.bind.bind(Function.prototype.call) as <T, A extends unknown[], R>(
    fn: (this: T, ...rest: A) => R,
  ) => (self: T, ...rest: A) => R;
  const lower = uncurry(String.prototype.toLowerCase);
  const part = uncurry(
    Bytes.prototype.slice as (this: Uint8Array, from: number, to: number) => Uint8Array<ArrayBuffer>,
  );
  const fill = uncurry(Bytes.prototype.set as (this: Uint8Array, from: Uint8Array, at: number) => void);
  const { bytesOf, text: decode, utf8 } = encodings;

  const isBytes = (value: unknown): boolean => isView(value) || value instanceof Buffers;
  const copy = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Bytes(bytes);

  /** @throws TypeError for a chunk that is neither bytes nor text */
  const chunkOf = (value: unknown): Uint8Array => {
    const own = bytesOfBlob(value);
    if (own !== null) return own;
    if (typeof value === 'string') return utf8(value);
    if (isBytes(value)) return bytesOf(value);
    throw new TypeError('A body stream must contain bytes or text');
  };

  const joined = (chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> => {
    const all = new Bytes(length);
    let at = 0;
    for (let index = 0; index < chunks.length; index += 1) {
      const chunk = chunks[index] as Uint8Array;
      fill(all, chunk, at);
      at += chunk.length;
    }
    return all;
  };

  class Blob {
    #bytes: Uint8Array<ArrayBuffer>;
    readonly type: string;
    constructor(parts: Iterable<unknown> = [], given: { readonly type?: unknown } = {}) {
      const chunks: Uint8Array[] = [];
      let length = 0;
      for (const one of parts) {
        const chunk = typeof one === 'object' ? chunkOf(one) : utf8(`${one}`);
        chunks[chunks.length] = copy(chunk);
        length += chunk.length;
      }
      this.#bytes = joined(chunks, length);
      const { type } = ownOptions(given);
      this.type = type === undefined ? '' : lower(`${type}`);
    }
    get size(): number {
      return this.#bytes.length;
    }
    slice(from = 0, to = this.#bytes.length, type: unknown = ''): Blob {
      return new Blob([part(this.#bytes, from, to)], { type });
    }
    async bytes(): Promise<Uint8Array> {
      return copy(this.#bytes);
    }
    async arrayBuffer(): Promise<ArrayBuffer> {
      return copy(this.#bytes).buffer;
    }
    async text(): Promise<string> {
      return decode(this.#bytes);
    }
    stream(): ReadableStream {
      return ReadableStream.from([copy(this.#bytes)]);
    }
    static bytesOf(value: unknown): Uint8Array | null {
      return typeof value === 'object' && value !== null && #bytes in value ? value.#bytes : null;
    }
  }
  const { bytesOf: bytesOfBlob } = Blob;
  Reflect.deleteProperty(Blob, 'bytesOf');

  interface Source {
    readonly start?: (controller: object) => unknown;
    readonly pull?: (controller: object) => unknown;
    readonly cancel?: (reason: unknown) => unknown;
  }

  /**
   * The part of the standard's stream that functions need: it is read once, chunk by chunk, and pulls from its source when it is
   * empty.
   */
  class ReadableStream {
    readonly #source: Source;
    readonly #controller: object;
    #chunks: unknown[] = [];
    /** The number of chunks read. */
    #at = 0;
    readonly #started: Promise<unknown>;
    #isClosed = false;
    #hasFailed = false;
    #failure: unknown;
    #isLocked = false;
    #wake: () => void = () => {};

    constructor(source: Source = create(null)) {
      this.#source = source;
      this.#controller = {
        desiredSize: 1,
        enqueue: (chunk: unknown) => {
          if (this.#isClosed) throw new TypeError('The stream is closed');
          this.#chunks[this.#chunks.length] = chunk;
          this.#wake();
        },
        close: () => {
          this.#isClosed = true;
          this.#wake();
        },
        error: (failure: unknown) => {
          this.#hasFailed = true;
          this.#failure = failure;
          this.#wake();
        },
      };
      const controller = this.#controller;
      this.#started = (async () => source.start?.(controller))();
      // Reported to the reader.
      this.#started.catch(() => {});
    }

    static from(chunks: AsyncIterable<unknown> | Iterable<unknown>): ReadableStream {
      const given = iteratorOf(chunks);
      return new ReadableStream({
        pull: async (controller) => {
          const { done, value } = await given.next();
          const { enqueue, close } = controller as { enqueue: (chunk: unknown) => void; close: () => void };
          if (done === true) close();
          else enqueue(value);
        },
      });
    }

    get locked(): boolean {
      return this.#isLocked;
    }

    async #read(): Promise<{ readonly done: boolean; readonly value: unknown }> {
      await this.#started;
      for (;;) {
        if (this.#hasFailed) throw this.#failure;
        if (this.#at < this.#chunks.length) {
          const value = this.#chunks[this.#at];
          this.#at += 1;
          return { done: false, value };
        }
        this.#chunks = [];
        this.#at = 0;
        if (this.#isClosed) return { done: true, value: undefined };
        const more = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        if (this.#source.pull === undefined) await more;
        else await this.#source.pull(this.#controller);
        if (this.#chunks.length === 0 && !this.#isClosed && !this.#hasFailed) await more;
      }
    }

    async cancel(reason?: unknown): Promise<void> {
      this.#isClosed = true;
      this.#chunks = [];
      this.#at = 0;
      await this.#source.cancel?.(reason);
    }

    getReader(): object {
      if (this.#isLocked) throw new TypeError('The stream is locked to a reader');
      this.#isLocked = true;
      return {
        read: () => this.#read(),
        cancel: (reason?: unknown) => this.cancel(reason),
        releaseLock: () => {
          this.#isLocked = false;
        },
      };
    }

    [Symbol.asyncIterator](): AsyncIterator<unknown> {
      if (this.#isLocked) throw new TypeError('The stream is locked to a reader');
      this.#isLocked = true;
      return {
        next: () => this.#read() as Promise<IteratorResult<unknown>>,
        return: async (value) => {
          await this.cancel();
          return { done: true, value };
        },
      };
    }
  }

  function iteratorOf(chunks: AsyncIterable<unknown> | Iterable<unknown>): AsyncIterator<unknown> | Iterator<unknown> {
    if (Symbol.asyncIterator in chunks) return chunks[Symbol.asyncIterator]();
    return chunks[Symbol.iterator]();
  }

  const isStream = (value: object): value is AsyncIterable<unknown> | Iterable<unknown> => {
    if (Symbol.asyncIterator in value) return typeof value[Symbol.asyncIterator] === 'function';
    // A generator; other iterables are converted to text.
    return Symbol.iterator in value && 'next' in value && !isArray(value);
  };

  const take = (given: unknown): OutgoingBody | BodyStream => {
    if (given === null || given === undefined) return null;
    const own = bytesOfBlob(given);
    if (own !== null) return own;
    if (isBytes(given)) return copy(bytesOf(given));
    if (typeof given !== 'object') return `${given as string}`;
    if (isStream(given)) return { chunks: given };
    if (given.toString === plainText) {
      throw new TypeError('A body must be text, bytes, a Blob or a byte stream; use Response.json for other values');
    }
    return `${given as unknown as string}`;
  };

  const collect = async ({ chunks }: BodyStream, maxBytes: number): Promise<Uint8Array> => {
    const found: Uint8Array[] = [];
    let length = 0;
    for await (const one of chunks) {
      const chunk = chunkOf(one);
      length += chunk.length;
      if (length > maxBytes) throw new RangeError(`The body is longer than ${maxBytes / 1_048_576} MB`);
      found[found.length] = copy(chunk);
    }
    return joined(found, length);
  };

  return {
    ownOptions,
    take,
    collect,
    isStreaming: (body): body is BodyStream => typeof body === 'object' && body !== null && 'chunks' in body,
    typeOf: (given) => (bytesOfBlob(given) === null ? null : (given as Blob).type || null),
    globals: { Blob, ReadableStream },
  };
}
