/**
 * The adapter to Svix: calls its API through the package `svix` under the egress policy, and classifies errors. After
 * failures it pauses calls.
 */
import type { Svix } from 'svix';
import { EgressError } from '../../../egress/egress-error.ts';
import type { WriteServerLog } from '../../../events/log/server-log-forwarder.ts';
import { Semaphore } from '../../../lib/concurrency/semaphore.ts';
import { retryAfterMs } from '../retry-schedule.ts';
import type { SenderHealth } from '../sender.ts';

/**
 * `token`: Svix rejects the token. `missing`: not found. `conflict`: it exists already. `refused`: Svix will never
 * accept this. `away`: no response, too many requests, or an error of Svix; a retry may succeed.
 */
export type SvixErrorKind = 'token' | 'missing' | 'conflict' | 'refused' | 'away';

export class SvixError extends Error {
  override readonly name = 'SvixError';
  readonly kind: SvixErrorKind;

  constructor(kind: SvixErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** Calls Svix (egress/egress.ts). */
export interface HttpFetcher {
  readonly fetch: (
    url: string | URL,
    init?: RequestInit,
    limits?: { readonly timeoutMs?: number; readonly maxBytes?: number },
  ) => Promise<Response>;
}

export interface SvixApiOptions {
  readonly url: string;
  readonly token: string;
  readonly egress: HttpFetcher;
  readonly onLog: WriteServerLog;
  /** Timeout of one call, in milliseconds. */
  readonly timeoutMs: number;
  /** Pause after a failure, in milliseconds; longer after consecutive ones, up to a minute. */
  readonly pauseMs: number;
}

/** Concurrent calls of this process. */
const AT_ONCE = 16;
const MAX_WAITING = 10_000;
/** 50 attempts with 16 KiB of response each, as JSON. */
const MAX_BYTES = 8 * 1_048_576;
const MAX_PAUSE_MS = 60_000;
const MAX_DETAIL = 200;
const KINDS: Readonly<Record<number, SvixErrorKind>> = {
  400: 'refused',
  401: 'token',
  403: 'token',
  404: 'missing',
  409: 'conflict',
  413: 'refused',
  422: 'refused',
};

export class SvixApi {
  readonly #options: SvixApiOptions;
  readonly #calls = new Semaphore(AT_ONCE, MAX_WAITING);
  #svix: Promise<Svix> | null = null;
  #failures = 0;
  /** No calls before this monotonic time, in milliseconds. */
  #notBefore = 0;
  #state: { reachable: boolean | null; error: string | null } = { reachable: null, error: null };

  constructor(options: SvixApiOptions) {
    this.#options = options;
  }

  state(): SenderHealth {
    return { kind: 'svix', url: this.#options.url, ...this.#state };
  }

  /** The remaining pause, in milliseconds; 0 if Svix may be called. */
  pause(): number {
    return Math.max(0, this.#notBefore - performance.now());
  }

  /** @throws SvixError on failure */
  async call<T>(work: (svix: Svix) => Promise<T>): Promise<T> {
    return await this.#calls.run(async () => {
      this.#svix ??= this.#open();
      const svix = await this.#svix;
      try {
        const response = await work(svix);
        this.#response();
        return response;
      } catch (error) {
        const issue = error instanceof SvixError ? error : this.#issueOf(error);
        if (issue.kind === 'away' || issue.kind === 'token') this.#failed(issue);
        else this.#response();
        throw issue;
      }
    });
  }

  /** Loaded with the first call: without Svix its package costs nothing. */
  async #open(): Promise<Svix> {
    const { Svix } = await import('svix');
    const { url, token, timeoutMs } = this.#options;
    const request = async (to: unknown, init?: RequestInit): Promise<Response> => {
      const response = await this.#options.egress.fetch(String(to), init, { timeoutMs, maxBytes: MAX_BYTES });
      if (response.ok) return response;
      throw await this.#refusal(response);
    };
    // The queue repeats calls, and its retries outlive this process.
    return new Svix(token, { serverUrl: url, retryScheduleInMs: [], fetch: request });
  }

  async #refusal(response: Response): Promise<SvixError> {
    const { status, headers } = response;
    const kind = KINDS[status] ?? 'away';
    const { url } = this.#options;
    if (kind === 'token')
      return new SvixError(kind, `Svix at ${url} rejects the token of MILLRACE_SVIX_TOKEN (${status})`);
    const requested = retryAfterMs(status, headers.get('retry-after') ?? undefined, Date.now());
    if (requested !== null) this.#leaveAlone(Math.min(requested, MAX_PAUSE_MS));
    return new SvixError(kind, `Svix at ${url} returned ${status}: ${detailOf(await response.text())}`);
  }

  #issueOf(error: unknown): SvixError {
    if (error instanceof EgressError) return new SvixError('away', `Svix: ${error.message}`, error);
    return new SvixError('away', `${this.#options.url} does not respond like Svix`, error);
  }

  #response(): void {
    if (this.#state.reachable === false) this.#options.onLog('info', 'Svix responds again', { url: this.#options.url });
    this.#failures = 0;
    this.#state = { reachable: true, error: null };
  }

  #failed({ message }: SvixError): void {
    if (this.#state.error !== message)
      this.#options.onLog('error', 'Deliveries are waiting for Svix', { error: message });
    this.#state = { reachable: false, error: message };
    // Calls that fail together count as one failure.
    if (this.pause() > 0) return;
    this.#failures += 1;
    this.#leaveAlone(Math.min(this.#options.pauseMs * 2 ** Math.min(this.#failures - 1, 10), MAX_PAUSE_MS));
  }

  #leaveAlone(ms: number): void {
    this.#notBefore = Math.max(this.#notBefore, performance.now() + ms);
  }
}

/** Svix's description of an error, without line breaks. It is about the request, and never contains the token. */
function detailOf(body: string): string {
  return body.replaceAll(/\s+/g, ' ').slice(0, MAX_DETAIL);
}
