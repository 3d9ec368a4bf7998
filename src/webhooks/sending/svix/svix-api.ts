/**
 * The door to Svix: calls its API by the package `svix`, within the rules for calls to other servers, and says in few words
 * why a call failed. After failures it is left alone for a while. Not here: what is asked of it (svix-mirror.ts,
 * svix-messages.ts), and the queue in which deliveries wait meanwhile.
 */
import type { Svix } from 'svix';
import { EgressError } from '../../../egress/egress-error.ts';
import type { Note } from '../../../events/log/note.ts';
import { Semaphore } from '../../../kernel/concurrency/semaphore.ts';
import { askedPause } from '../schedule.ts';
import type { SenderState } from '../sender.ts';

/**
 * `token`: Svix refuses the token. `missing`: there is no such thing there. `conflict`: there is one already. `refused`: Svix
 * will never take this. `away`: no answer, too many calls, or an error of its own; it may go well later.
 */
export type SvixFaultKind = 'token' | 'missing' | 'conflict' | 'refused' | 'away';

export class SvixFault extends Error {
  override readonly name = 'SvixFault';
  readonly kind: SvixFaultKind;

  constructor(kind: SvixFaultKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** How Svix is called (egress/egress.ts). */
export interface SvixCaller {
  readonly fetch: (
    url: string | URL,
    init?: RequestInit,
    limits?: { readonly timeoutMs?: number; readonly maxBytes?: number },
  ) => Promise<Response>;
}

export interface SvixApiOptions {
  readonly url: string;
  readonly token: string;
  readonly egress: SvixCaller;
  readonly onNote: Note;
  /** Time for one call, in milliseconds. */
  readonly timeoutMs: number;
  /** After a failure nothing is called for so long, in milliseconds; after the next ones for longer, up to a minute. */
  readonly pauseMs: number;
}

/** Calls at one time, of this process. */
const AT_ONCE = 16;
const MAX_WAITING = 10_000;
/** 50 tries with 16 KiB of an answer each, as JSON. */
const MAX_BYTES = 8 * 1_048_576;
const MAX_PAUSE_MS = 60_000;
const MAX_DETAIL = 200;
const KINDS: Readonly<Record<number, SvixFaultKind>> = {
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
  /** Nothing is called before this time of the monotonic clock, in milliseconds. */
  #notBefore = 0;
  #state: { answers: boolean | null; fault: string | null } = { answers: null, fault: null };

  constructor(options: SvixApiOptions) {
    this.#options = options;
  }

  state(): SenderState {
    return { kind: 'svix', url: this.#options.url, ...this.#state };
  }

  /** For how long Svix is left alone, in milliseconds; 0 when it may be called. */
  pause(): number {
    return Math.max(0, this.#notBefore - performance.now());
  }

  /** @throws SvixFault when it did not go well */
  async call<T>(work: (svix: Svix) => Promise<T>): Promise<T> {
    return await this.#calls.run(async () => {
      this.#svix ??= this.#open();
      const svix = await this.#svix;
      try {
        const answer = await work(svix);
        this.#answered();
        return answer;
      } catch (error) {
        const fault = error instanceof SvixFault ? error : this.#faultOf(error);
        if (fault.kind === 'away' || fault.kind === 'token') this.#failed(fault);
        else this.#answered();
        throw fault;
      }
    });
  }

  /** Loaded with the first call: without Svix its package costs nothing. */
  async #open(): Promise<Svix> {
    const { Svix } = await import('svix');
    const { url, token, timeoutMs } = this.#options;
    const ask = async (to: unknown, init?: RequestInit): Promise<Response> => {
      const response = await this.#options.egress.fetch(String(to), init, { timeoutMs, maxBytes: MAX_BYTES });
      if (response.ok) return response;
      throw await this.#refusal(response);
    };
    // Calls are tried again from the queue, where they outlive this process.
    return new Svix(token, { serverUrl: url, retryScheduleInMs: [], fetch: ask });
  }

  async #refusal(response: Response): Promise<SvixFault> {
    const { status, headers } = response;
    const kind = KINDS[status] ?? 'away';
    const { url } = this.#options;
    if (kind === 'token')
      return new SvixFault(kind, `Svix at ${url} refuses the token of MILLRACE_SVIX_TOKEN (${status})`);
    const asked = askedPause(status, headers.get('retry-after') ?? undefined, Date.now());
    if (asked !== null) this.#leaveAlone(Math.min(asked, MAX_PAUSE_MS));
    return new SvixFault(kind, `Svix at ${url} answered ${status}: ${detailOf(await response.text())}`);
  }

  #faultOf(error: unknown): SvixFault {
    if (error instanceof EgressError) return new SvixFault('away', `Svix: ${error.message}`, error);
    return new SvixFault('away', `${this.#options.url} does not answer as Svix does`, error);
  }

  #answered(): void {
    if (this.#state.answers === false) this.#options.onNote('info', 'Svix answers again', { url: this.#options.url });
    this.#failures = 0;
    this.#state = { answers: true, fault: null };
  }

  #failed({ message }: SvixFault): void {
    if (this.#state.fault !== message) this.#options.onNote('error', 'Deliveries wait for Svix', { fault: message });
    this.#state = { answers: false, fault: message };
    // Calls that fail together are one failure.
    if (this.pause() > 0) return;
    this.#failures += 1;
    this.#leaveAlone(Math.min(this.#options.pauseMs * 2 ** Math.min(this.#failures - 1, 10), MAX_PAUSE_MS));
  }

  #leaveAlone(ms: number): void {
    this.#notBefore = Math.max(this.#notBefore, performance.now() + ms);
  }
}

/** What Svix says of a fault, without line breaks. It is of the request, and never holds the token. */
function detailOf(body: string): string {
  return body.replaceAll(/\s+/g, ' ').slice(0, MAX_DETAIL);
}
