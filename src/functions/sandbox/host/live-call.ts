/** One running call on the server's side: its operations, log, and end, which comes exactly once. */
import { randomBytes } from 'node:crypto';
import { MillraceError } from '../../../lib/errors.ts';
import { problemFields } from '../../../lib/problem.ts';
import {
  MAX_ARGUMENT_BYTES,
  MAX_FETCHES,
  MAX_HOST_OPERATIONS,
  MAX_LOG_BYTES,
  MAX_LOG_LINES,
  maxResultBytes,
} from '../host-schemas.ts';
import type { CallErrorCode, CallOutcome, HostOperation, LogLine, SandboxCall } from '../sandbox.ts';
import type { WireOutcome } from '../wire/messages.ts';

/** Grace period after the wall-time limit before the server ends a call, in milliseconds. */
const GRACE_MS = 500;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The outcome of a host operation: a result, or an error as the code sees it. JSON text. */
export interface HostResponse {
  readonly ok: boolean;
  readonly text: string;
}

export class LiveCall {
  readonly call: SandboxCall;
  /** Identifies the call to the runner. Secret to all others. */
  readonly capability = randomBytes(16).toString('base64url');
  readonly outcome: Promise<CallOutcome>;
  readonly #resolve: (outcome: CallOutcome) => void;
  /** When the server ends it, by `performance.now()`. */
  deadline: number;
  /** When its code last received something to do, by `performance.now()`. */
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

  /** Whether it waits for its host, so that its code is most likely idle. */
  get isWaiting(): boolean {
    return this.#open > 0;
  }

  /** Runs an operation within its limits. Never rejects. */
  async request(operation: HostOperation, argument: string): Promise<HostResponse> {
    this.#operations += 1;
    if (operation === 'fetch') this.#fetches += 1;
    this.#open += 1;
    try {
      if (this.#operations > MAX_HOST_OPERATIONS || this.#fetches > MAX_FETCHES) {
        throw new MillraceError(
          'function-limits-exceeded',
          'A call can perform at most 200 operations, 10 of them fetches',
        );
      }
      if (Buffer.byteLength(argument) > MAX_ARGUMENT_BYTES) {
        throw new MillraceError('function-limits-exceeded', 'The argument is longer than 1 MB');
      }
      const text = await this.call.host(operation, argument);
      if (Buffer.byteLength(text) > maxResultBytes(operation)) {
        throw new MillraceError('function-limits-exceeded', 'The result is longer than 5 MB');
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

  /** @returns false for an invalid outcome: the runner is compromised */
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

  fail(code: CallErrorCode, message: string): void {
    this.#settle({ kind: 'error', code, message, stack: null, cpuMs: 0 });
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

/** The part of an error that the code may see: nothing of an error that is not meant for clients. */
function errorForCode(error: unknown): object {
  if (!(error instanceof MillraceError)) {
    return { code: 'internal', status: 500, message: 'An unexpected error occurred', details: {} };
  }
  const { hint, errors } = problemFields(error);
  const { code, status, message, extensions } = error;
  return { code, status, message, details: { ...extensions, hint, errors } };
}
