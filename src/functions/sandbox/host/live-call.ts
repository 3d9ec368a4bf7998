/**
 * One call that is under way, as the server knows it: what it asked for, what it logged, and its end, which comes exactly once. Not
 * here: the runner that its code is in (isolate-sandbox.ts).
 */
import { randomBytes } from 'node:crypto';
import { MillraceError } from '../../../kernel/errors.ts';
import { problemMembers } from '../../../kernel/problem.ts';
import {
  MAX_ARGUMENT_BYTES,
  MAX_FETCHES,
  MAX_HOST_OPERATIONS,
  MAX_LOG_BYTES,
  MAX_LOG_LINES,
  maxResultBytes,
} from '../host-shapes.ts';
import type { CallFaultCode, CallOutcome, HostOperation, LogLine, SandboxCall } from '../sandbox.ts';
import type { WireOutcome } from '../wire/messages.ts';

/** Milliseconds after its wall time at which a call is ended from outside. */
const GRACE_MS = 500;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** What an operation of the host came to: a result, or an error as the code sees it. JSON text. */
export interface HostAnswer {
  readonly ok: boolean;
  readonly text: string;
}

export class LiveCall {
  readonly call: SandboxCall;
  /** Names the call to the runner. Nobody else knows it. */
  readonly capability = randomBytes(16).toString('base64url');
  readonly outcome: Promise<CallOutcome>;
  readonly #resolve: (outcome: CallOutcome) => void;
  /** When it is ended from outside, by `performance.now()`. */
  deadline: number;
  /** When its code was given something to do last, by `performance.now()`. */
  activeAt = performance.now();
  #isOver = false;
  #operations = 0;
  #fetches = 0;
  #open = 0;
  #logLines = 0;
  #logBytes = 0;

  constructor(call: SandboxCall) {
    this.call = call;
    this.deadline = performance.now() + call.limits.wallMs + GRACE_MS;
    const { promise, resolve } = Promise.withResolvers<CallOutcome>();
    this.outcome = promise;
    this.#resolve = resolve;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether it waits for its host, so that its code most likely does not run. */
  get isWaiting(): boolean {
    return this.#open > 0;
  }

  /** Does an operation within its bounds. Never rejects. */
  async ask(operation: HostOperation, argument: string): Promise<HostAnswer> {
    this.#operations += 1;
    if (operation === 'fetch') this.#fetches += 1;
    this.#open += 1;
    try {
      if (this.#operations > MAX_HOST_OPERATIONS || this.#fetches > MAX_FETCHES) {
        throw new MillraceError('function-limit', 'A call can ask for 200 operations, 10 of them fetches');
      }
      if (Buffer.byteLength(argument) > MAX_ARGUMENT_BYTES) {
        throw new MillraceError('function-limit', 'The argument is longer than 1 MB');
      }
      const text = await this.call.host(operation, argument);
      if (Buffer.byteLength(text) > maxResultBytes(operation)) {
        throw new MillraceError('function-limit', 'The result is longer than 5 MB');
      }
      return { ok: true, text };
    } catch (error) {
      return { ok: false, text: JSON.stringify(errorForCode(error)) };
    } finally {
      this.#open -= 1;
      this.activeAt = performance.now();
    }
  }

  log(level: LogLine['level'], text: string): void {
    this.#logLines += 1;
    this.#logBytes += Buffer.byteLength(text);
    if (this.#isOver || this.#logLines > MAX_LOG_LINES || this.#logBytes > MAX_LOG_BYTES) return;
    this.call.onLog({ at: new Date(), level, text });
  }

  /** @returns false for an outcome that cannot be: the runner lies */
  end(outcome: WireOutcome, body: string, cpuMs: number): boolean {
    if (outcome.kind === 'value') {
      if (!isJson(body)) return false;
      this.#settle({ kind: 'value', value: body, cpuMs });
    } else if (outcome.kind === 'response') {
      const { status, headers, hasBody, isBase64 } = outcome;
      if (isBase64 && !BASE64.test(body)) return false;
      const response = { status, headers, body: hasBody ? body : null, ...(isBase64 ? { base64: true as const } : {}) };
      this.#settle({ kind: 'response', response, cpuMs });
    } else this.#settle({ ...outcome, cpuMs });
    return true;
  }

  fail(code: CallFaultCode, message: string): void {
    this.#settle({ kind: 'fault', code, message, stack: null, cpuMs: 0 });
  }

  #settle(outcome: CallOutcome): void {
    this.#isOver = true;
    this.#resolve(outcome);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What the code may know of an error: nothing of one that is not made for clients. */
function errorForCode(error: unknown): object {
  if (!(error instanceof MillraceError)) {
    return { code: 'internal', status: 500, message: 'An unexpected error occurred', details: {} };
  }
  const { hint, errors } = problemMembers(error);
  const { code, status, message, extensions } = error;
  return { code, status, message, details: { ...extensions, hint, errors } };
}
