/**
 * The one way by which the program calls servers that its data names: identity providers now, and whatever an owner lets it
 * call later. It connects only to addresses that may be reached, follows no redirect, and bounds time, headers, body and the
 * number of calls. Not here: the database, the object store and the mail server. Settings name these, and the people that
 * set them run the machine.
 */
import type { Agent, Dispatcher } from 'undici';
import type { Mode } from '../kernel/config/config.ts';
import { readAnswer } from './answer.ts';
import type { AddressLookup } from './connector.ts';
import { asEgressError, EgressError, egressError } from './egress-error.ts';
import { type PostAnswer, type PostRequest, post } from './post.ts';
import { makeReach } from './reach.ts';
import { readTarget, type TargetRules } from './target.ts';

export interface EgressOptions {
  readonly mode: Mode;
  /** Networks that may be reached whatever they are, by http also: each an address or as `10.0.0.0/8`. */
  readonly allow: readonly string[];
  /** Finds the addresses of names; the operating system does where it is absent. */
  readonly lookup?: AddressLookup;
}

export interface CallLimits {
  /** Time for the whole call, in milliseconds, from the name that is looked up to the last byte of the body. */
  readonly timeoutMs?: number;
  /** Largest body, in bytes. */
  readonly maxBytes?: number;
  /** Whose connections it takes: those of functions are apart, so that no function keeps anybody from signing in. */
  readonly pool?: 'calls' | 'functions';
}

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1_048_576;
/** Calls at one time, to one server and altogether: each may hold `maxBytes`, and a server that hangs shall stop no other. */
const MAX_CALLS_EACH = 32;
const MAX_CALLS = 256;
/** The same for functions, whose answers may be larger. */
const MAX_FUNCTION_CALLS_EACH = 16;
const MAX_FUNCTION_CALLS = 64;
/**
 * The same for posts. All endpoints may be at one server, where one that hangs must keep no other from a connection; the caller
 * bounds the calls of each endpoint.
 */
const MAX_POSTS = 768;
const MAX_TARGETS = 1_024;

export class Egress {
  readonly #rules: TargetRules;
  readonly #lookup: AddressLookup | undefined;
  /** Posts have connections of their own: a server that takes all of them must not keep anybody from signing in. */
  readonly #agents = new Map<'calls' | 'functions' | 'posts', Promise<Agent>>();
  #posts = 0;
  /** URLs of posts as they were read: the same ones are called again and again. */
  readonly #targets = new Map<string, URL>();
  readonly #end = new AbortController();
  readonly #calls = {
    calls: new Underway(MAX_CALLS_EACH, MAX_CALLS),
    functions: new Underway(MAX_FUNCTION_CALLS_EACH, MAX_FUNCTION_CALLS),
  };

  constructor({ mode, allow, lookup }: EgressOptions) {
    this.#rules = { mode, allow, reach: makeReach(mode, allow) };
    this.#lookup = lookup;
  }

  /**
   * Whether a URL may be saved in order to be called later. What its name leads to is judged when it is called.
   * @returns what is wrong with it, as the end of a sentence that begins with "The URL"; null when nothing is
   */
  checkUrl(text: string): string | null {
    const target = readTarget(text, this.#rules);
    return 'fault' in target ? target.fault : null;
  }

  /**
   * Calls a URL and reads the whole answer. Takes what the `fetch` of browsers takes, besides: a redirect is given back as
   * it is, or is an error where `redirect` is `error`; nothing is cached, and no cookie is kept.
   * @throws EgressError when there is no answer; the reason of `init.signal` when that ends the call
   */
  async fetch(url: string | URL, init: RequestInit = {}, limits: CallLimits = {}): Promise<Response> {
    const target = this.#target(typeof url === 'string' ? url : url.href);
    const { origin } = target;
    init.signal?.throwIfAborted();
    const clock = new AbortController();
    const timer = setTimeout(() => clock.abort(), limits.timeoutMs ?? TIMEOUT_MS);
    const signal = init.signal ? AbortSignal.any([clock.signal, init.signal]) : clock.signal;
    try {
      const ended = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      // undici ends a call that waits for its connection only when there is one.
      const response = await Promise.race([this.#call(target, { ...init, signal }, limits), ended]);
      if (init.redirect === 'error' && response.status >= 300 && response.status < 400) {
        throw egressError('redirected', origin);
      }
      return response;
    } catch (error) {
      init.signal?.throwIfAborted();
      if (clock.signal.aborted) throw egressError('timeout', origin, error);
      throw asEgressError(error, origin);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Calls a URL whose answer does not end, such as a stream of events. Nothing of it is bounded: only the signal, the server
   * and `close` end it.
   * @throws EgressError when there is no answer; the reason of the signal when that ends the call
   */
  async follow(
    url: string,
    { headers, signal }: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
  ): Promise<{ readonly status: number; readonly body: AsyncIterable<Uint8Array> }> {
    const target = this.#target(url);
    try {
      const agent = await this.#connections('calls', MAX_CALLS_EACH);
      const { statusCode, body } = await agent.request(await asked(target, { headers, signal }));
      return { status: statusCode, body };
    } catch (error) {
      signal.throwIfAborted();
      throw asEgressError(error, target.origin);
    }
  }

  /**
   * Sends a request and reads the beginning of the answer, with little work for each: for deliveries, thousands a second.
   * A redirect is given back as it is.
   * @throws EgressError when there is no answer
   */
  async post(url: string, request: PostRequest): Promise<PostAnswer> {
    const target = this.#targets.get(url) ?? this.#target(url);
    if (this.#targets.size >= MAX_TARGETS) this.#targets.clear();
    this.#targets.set(url, target);
    if (this.#posts >= MAX_POSTS) throw egressError('busy', target.origin);
    this.#posts += 1;
    try {
      return await post(await this.#connections('posts', MAX_POSTS), target, request);
    } finally {
      this.#posts -= 1;
    }
  }

  #target(text: string): URL {
    const target = readTarget(text, this.#rules);
    if ('fault' in target) throw new EgressError('refused-url', `The URL ${target.fault}`);
    return target.url;
  }

  async #call(url: URL, init: RequestInit, limits: CallLimits): Promise<Response> {
    const { maxBytes = MAX_BYTES, pool = 'calls' } = limits;
    const { origin } = url;
    const underway = this.#calls[pool];
    underway.enter(origin);
    try {
      const agent = await this.#connections(pool, underway.mostEach);
      return await readAnswer(await agent.request(await asked(url, init)), { origin, maxBytes });
    } finally {
      underway.leave(origin);
    }
  }

  /** Ends all calls that are under way. */
  async close(): Promise<void> {
    this.#end.abort();
    for (const agent of this.#agents.values()) await (await agent).destroy();
  }

  /** Made for the first call: most servers make none, and to load undici is a tenth of a start. */
  #connections(kind: 'calls' | 'functions' | 'posts', maxConnections: number): Promise<Agent> {
    this.#end.signal.throwIfAborted();
    const known = this.#agents.get(kind);
    if (known !== undefined) return known;
    const { reach } = this.#rules;
    const agent = import('./agent.ts').then(({ openAgent }) =>
      openAgent({ reach, lookup: this.#lookup, maxConnections, end: this.#end.signal }),
    );
    this.#agents.set(kind, agent);
    return agent;
  }
}

/** Calls under way, counted by origin. */
class Underway {
  /** To one server at one time. */
  readonly mostEach: number;
  readonly #most: number;
  readonly #byOrigin = new Map<string, number>();
  #all = 0;

  constructor(mostEach: number, most: number) {
    this.mostEach = mostEach;
    this.#most = most;
  }

  /** @throws EgressError `busy` */
  enter(origin: string): void {
    const each = this.#byOrigin.get(origin) ?? 0;
    if (this.#all >= this.#most || each >= this.mostEach) throw egressError('busy', origin);
    this.#all += 1;
    this.#byOrigin.set(origin, each + 1);
  }

  leave(origin: string): void {
    this.#all -= 1;
    const left = (this.#byOrigin.get(origin) ?? 1) - 1;
    if (left > 0) this.#byOrigin.set(origin, left);
    else this.#byOrigin.delete(origin);
  }
}

/** The request as undici takes it. `Request` reads method, headers and every kind of body as the standard says. */
async function asked(url: URL, init: RequestInit): Promise<Dispatcher.RequestOptions> {
  const request = new Request(url, { ...init, signal: null });
  const headers = Object.fromEntries(request.headers);
  return {
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method: request.method,
    // GitHub refuses requests without a name. Some servers compress all the same (decoding.ts).
    headers: { 'user-agent': 'Millrace', ...headers, 'accept-encoding': 'identity' },
    body: request.body === null ? null : await request.bytes(),
    signal: init.signal ?? null,
  };
}
