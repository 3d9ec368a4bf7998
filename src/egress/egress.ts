/**
 * All calls to servers whose URLs come from stored data: identity providers, webhooks, functions. They connect only to
 * permitted IP addresses, follow no redirect, and bound time, headers, body and the number of calls. URLs in settings
 * are trusted: the operator of the machine wrote them.
 */
import type { Agent, Dispatcher } from 'undici';
import type { ServerMode } from '../config/config.ts';
import { createAddressPolicy } from './address-policy.ts';
import type { AddressLookup } from './connector.ts';
import { asEgressError, EgressError, egressError } from './egress-error.ts';
import { type PostRequest, type PostResponse, post } from './http-post.ts';
import { readResponse } from './read-response.ts';
import { type EgressUrlRules, parseEgressUrl } from './url-policy.ts';

export interface EgressOptions {
  readonly mode: ServerMode;
  /** Networks that may always be reached, also over http: each an IP address or as `10.0.0.0/8`. */
  readonly allow: readonly string[];
  /** Resolves host names; the operating system does so where it is absent. */
  readonly lookup?: AddressLookup;
}

export interface CallLimits {
  /** Timeout of the whole call, in milliseconds, from the name lookup to the last byte of the body. */
  readonly timeoutMs?: number;
  /** Largest body, in bytes. */
  readonly maxBytes?: number;
  /** Which connections it uses: functions have their own, so that no function can block sign-ins. */
  readonly pool?: 'calls' | 'functions';
}

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1_048_576;
/**
 * Concurrent calls, to one server and in total: each may hold `maxBytes`, and a server that hangs must not block
 * others.
 */
const MAX_CALLS_EACH = 32;
const MAX_CALLS = 256;
/** The same for functions, whose responses may be larger. */
const MAX_FUNCTION_CALLS_EACH = 16;
const MAX_FUNCTION_CALLS = 64;
/**
 * The same for posts. All endpoints may be on one server, where one that hangs must not block the others; the caller
 * bounds the calls of each endpoint.
 */
const MAX_POSTS = 768;
const MAX_TARGETS = 1_024;

export class Egress {
  readonly #rules: EgressUrlRules;
  readonly #lookup: AddressLookup | undefined;
  /** Posts have their own connections: a server that occupies all of them must not block sign-ins. */
  readonly #agents = new Map<'calls' | 'functions' | 'posts', Promise<Agent>>();
  #activePosts = 0;
  /** Parsed URLs of posts: the same ones are called again and again. */
  readonly #targets = new Map<string, URL>();
  readonly #end = new AbortController();
  readonly #calls = {
    calls: new Underway(MAX_CALLS_EACH, MAX_CALLS),
    functions: new Underway(MAX_FUNCTION_CALLS_EACH, MAX_FUNCTION_CALLS),
  };

  constructor({ mode, allow, lookup }: EgressOptions) {
    this.#rules = { mode, allow, addressPolicy: createAddressPolicy(mode, allow) };
    this.#lookup = lookup;
  }

  /**
   * Whether a URL may be saved to be called later. Its IP address is checked when it is called.
   * @returns the error, as the end of a sentence that begins with "The URL"; null when there is none
   */
  checkUrl(text: string): string | null {
    const target = parseEgressUrl(text, this.#rules);
    return 'issue' in target ? target.issue : null;
  }

  /**
   * Calls a URL and reads the whole response. Takes the arguments of `fetch`, with these differences: a redirect is
   * returned as it is, or is an error where `redirect` is `error`; nothing is cached, and no cookie is stored.
   * @throws EgressError when there is no response; the reason of `init.signal` when that aborts the call
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
      // undici cannot abort a call that still waits for its connection.
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
   * Calls a URL whose response does not end, such as a stream of events. Nothing of it is bounded: only the signal, the
   * server and `close` end it.
   * @throws EgressError when there is no response; the reason of the signal when that aborts the call
   */
  async follow(
    url: string,
    { headers, signal }: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
  ): Promise<{ readonly status: number; readonly body: AsyncIterable<Uint8Array> }> {
    const target = this.#target(url);
    try {
      const agent = await this.#connections('calls', MAX_CALLS_EACH);
      const { statusCode, body } = await agent.request(await requested(target, { headers, signal }));
      return { status: statusCode, body };
    } catch (error) {
      signal.throwIfAborted();
      throw asEgressError(error, target.origin);
    }
  }

  /**
   * Sends a request and reads the beginning of the response, with little overhead: for deliveries, thousands a second.
   * A redirect is returned as it is.
   * @throws EgressError when there is no response
   */
  async post(url: string, request: PostRequest): Promise<PostResponse> {
    const target = this.#targets.get(url) ?? this.#target(url);
    if (this.#targets.size >= MAX_TARGETS) this.#targets.clear();
    this.#targets.set(url, target);
    if (this.#activePosts >= MAX_POSTS) throw egressError('busy', target.origin);
    this.#activePosts += 1;
    try {
      return await post(await this.#connections('posts', MAX_POSTS), target, request);
    } finally {
      this.#activePosts -= 1;
    }
  }

  #target(text: string): URL {
    const target = parseEgressUrl(text, this.#rules);
    if ('issue' in target) throw new EgressError('blocked-url', `The URL ${target.issue}`);
    return target.url;
  }

  async #call(url: URL, init: RequestInit, limits: CallLimits): Promise<Response> {
    const { maxBytes = MAX_BYTES, pool = 'calls' } = limits;
    const { origin } = url;
    const underway = this.#calls[pool];
    underway.enter(origin);
    try {
      const agent = await this.#connections(pool, underway.mostEach);
      return await readResponse(await agent.request(await requested(url, init)), { origin, maxBytes });
    } finally {
      underway.leave(origin);
    }
  }

  /** Aborts all calls in progress. */
  async close(): Promise<void> {
    this.#end.abort();
    for (const agent of this.#agents.values()) await (await agent).destroy();
  }

  /** Created for the first call: most servers make none, and loading undici is a tenth of a start. */
  #connections(kind: 'calls' | 'functions' | 'posts', maxConnections: number): Promise<Agent> {
    this.#end.signal.throwIfAborted();
    const known = this.#agents.get(kind);
    if (known !== undefined) return known;
    const { addressPolicy } = this.#rules;
    const agent = import('./agent.ts').then(({ createEgressAgent }) =>
      createEgressAgent({ addressPolicy, lookup: this.#lookup, maxConnections, end: this.#end.signal }),
    );
    this.#agents.set(kind, agent);
    return agent;
  }
}

/** Calls in progress, counted by origin. */
class Underway {
  /** Concurrent calls to one server. */
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

/** The request as undici takes it. `Request` parses method, headers and every kind of body as the standard says. */
async function requested(url: URL, init: RequestInit): Promise<Dispatcher.RequestOptions> {
  const request = new Request(url, { ...init, signal: null });
  const headers = Object.fromEntries(request.headers);
  return {
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method: request.method,
    // GitHub rejects requests without a user agent. Some servers compress all the same (decoding.ts).
    headers: { 'user-agent': 'Millrace', ...headers, 'accept-encoding': 'identity' },
    body: request.body === null ? null : await request.bytes(),
    signal: init.signal ?? null,
  };
}
