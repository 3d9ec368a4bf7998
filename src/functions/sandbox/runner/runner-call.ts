/** One call in the runner: forwards operations and log lines to the server, measures its time, and ends exactly once. */
import {
  MAX_ARGUMENT_BYTES,
  MAX_LOG_BYTES,
  MAX_LOG_LINES,
  MAX_OPERATION_BASE64_BYTES,
  MAX_OPERATION_RESULT_BYTES,
} from '../host-schemas.ts';
import type { IsolateOutcome } from '../isolate/bootstrap.ts';
import type { ServerMessage, WireOutcome } from '../wire/messages.ts';

/** Sends a frame to the server. */
export type SendFrame = (head: object, body?: string) => void;

/** Enters the context of a call: one entry at a time. */
export interface CallControl {
  readonly response: (number: number, ok: boolean, text: string) => void;
  readonly woken: () => void;
  /**
   * The call has ended: no more code may run for it.
   * @param isClear whether its context may serve further calls
   */
  readonly leave: (isClear: boolean) => void;
  /** The call has used up its time: end it, and its running code. */
  readonly interrupt: (why: string) => void;
  /** Nanoseconds of CPU of the running entry of this call. */
  readonly cpuUnderWay: () => bigint;
}

type CallMessage = Extract<ServerMessage, { type: 'call' }>;

/** V8 throws this into the code when an array of bytes does not fit; the heap limit ends the isolate instead. */
const NO_BUFFER = 'RangeError: Array buffer allocation failed';
/** The latest time of a timer, in milliseconds: the longest wall time is far below. */
const MAX_WAIT_MS = 3_600_000;

export class RunnerCall {
  readonly message: CallMessage;
  readonly input: string;
  readonly #send: SendFrame;
  readonly #wall: NodeJS.Timeout;
  #wake: NodeJS.Timeout | null = null;
  #entry: CallControl | null = null;
  #logLines = 0;
  #logCharacters = 0;
  /** Operations without a response in the context. */
  #open = 0;
  /** Nanoseconds of CPU of the ended entries. */
  cpu = 0n;
  hasEnded = false;

  constructor(message: CallMessage, input: string, send: SendFrame) {
    this.message = message;
    this.input = input;
    this.#send = send;
    this.#wall = setTimeout(() => this.#timeIsUp(), message.limits.wallMs);
  }

  /** Start data of the bootstrap program, as JSON. */
  job(): string {
    const { kind, facts } = this.message;
    return JSON.stringify({ kind, facts });
  }

  attach(entry: CallControl): void {
    this.#entry = entry;
  }

  /** A message of the bootstrap program: strings and numbers, of any content. */
  receive(what: unknown, number: unknown, name: unknown, text: unknown): void {
    if (this.hasEnded || typeof name !== 'string' || typeof text !== 'string' || typeof number !== 'number') return;
    const { call } = this.message;
    if (what === 'ask') {
      this.#open += 1;
      if (Buffer.byteLength(text) > MAX_ARGUMENT_BYTES) {
        const error = {
          code: 'function-limits-exceeded',
          status: 400,
          message: 'The argument is longer than 1 MB',
          details: {},
        };
        this.response(number, false, JSON.stringify(error));
      } else this.#send({ type: 'host', call, number, operation: name }, text);
    } else if (what === 'log') {
      this.#logLines += 1;
      this.#logCharacters += text.length;
      if (this.#logLines > MAX_LOG_LINES || this.#logCharacters > MAX_LOG_BYTES) return;
      this.#send({ type: 'log', call, level: name }, text);
    } else if (what === 'wake') {
      if (this.#wake !== null) clearTimeout(this.#wake);
      this.#wake = setTimeout(() => this.#entry?.woken(), Math.min(MAX_WAIT_MS, Math.max(0, number)));
    } else if (what === 'done') this.#done(name, text);
  }

  response(number: number, ok: boolean, text: string): void {
    if (!this.hasEnded) this.#entry?.response(number, ok, text);
  }

  /** A response is in the context: one that only waits for its entry would be lost with the end of the call. */
  delivered(): void {
    this.#open -= 1;
  }

  #done(ending: string, text: string): void {
    const reported = JSON.parse(ending) as IsolateOutcome;
    const most =
      reported.kind === 'response' && reported.isBase64 ? MAX_OPERATION_BASE64_BYTES : MAX_OPERATION_RESULT_BYTES;
    if (Buffer.byteLength(text) > most) this.fail('function-failed', 'The result is longer than 5 MB');
    else if (reported.kind === 'error') this.fail('function-failed', reported.message, reported.stack);
    else this.#end(reported, text);
  }

  fail(
    code: 'function-failed' | 'function-timeout' | 'function-out-of-memory' | 'function-runtime-restarted',
    message: string,
    stack: string | null = null,
  ): void {
    const outcome =
      code === 'function-failed' && message === NO_BUFFER
        ? ({ code: 'function-out-of-memory', message: this.overMemory } as const)
        : { code, message };
    this.#end({ kind: 'error', ...outcome, stack }, '');
  }

  /** The message for a call that used too much memory. */
  get overMemory(): string {
    return `The function used more than ${this.message.limits.heapMb} MB of memory`;
  }

  /**
   * Ends it with the error that isolated-vm threw.
   * @param ran whether author code ran, so that the frames belong to it
   */
  failWith(error: unknown, ran: boolean): void {
    this.fail('function-failed', messageOf(error), ran ? stackOf(error) : null);
  }

  #timeIsUp(): void {
    const why = `The function took longer than ${this.message.limits.wallMs} ms`;
    if (this.#entry === null) this.fail('function-timeout', why);
    else this.#entry.interrupt(why);
  }

  /** Stops its timers; the server ends the call. */
  close(): void {
    this.hasEnded = true;
    clearTimeout(this.#wall);
    if (this.#wake !== null) clearTimeout(this.#wake);
  }

  #end(outcome: WireOutcome, body: string): void {
    if (this.hasEnded) return;
    const cpuMs = Number((this.cpu + (this.#entry?.cpuUnderWay() ?? 0n)) / 1_000n) / 1_000;
    this.close();
    this.#send({ type: 'result', call: this.message.call, cpuMs, outcome }, body);
    // A promise of an open operation stays pending for ever: a later call that awaits it would hang.
    const isClear = outcome.kind !== 'error' || outcome.code === 'function-failed';
    this.#entry?.leave(isClear && this.#open === 0);
  }
}

function messageOf(error: unknown): string {
  const text =
    error instanceof Error
      ? error.name === 'Error'
        ? error.message
        : `${error.name}: ${error.message}`
      : String(error);
  return text.slice(0, 2_000);
}

/** Null without a stack. */
function stackOf(error: unknown): string | null {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return null;
  const frames = error.stack.split('\n').filter((line) => !/isolated-vm|millrace:inside|node:|file:/.test(line));
  return frames.join('\n').slice(0, 8_000);
}
