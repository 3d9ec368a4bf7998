/**
 * Host operations from inside an isolate: a bounded number at a time, each with one response. Also the clock of `setTimeout` and
 * the bounded log. All of it belongs to one call of the context. Sent to the isolate as text, so it references nothing outside itself.
 */
import type { HostError, OutcomeUtils } from './errors-and-response.ts';

/** Sends to the runner: a message type, the number of the call in this context, and texts. */
export type PostToRunner = (
  what: 'ask' | 'log' | 'wake' | 'done',
  call: number,
  number: number,
  name: string,
  text: string,
) => void;

/** The operations, timers and log of one call. Nothing of them has an effect after its end. */
export interface CallBridge {
  /** The number of the call in this context. */
  readonly call: number;
  /** Calls an operation. Resolves with the result of the host, rejects with a MillraceError. */
  readonly request: (operation: string, argument: unknown) => Promise<unknown>;
  /** A response has arrived. */
  readonly hostResult: (number: number, ok: boolean, text: string) => void;
  /**
   * A timer may be due.
   * @throws Error when its code threw
   */
  readonly woken: () => void;
  readonly log: (level: 'info' | 'warn' | 'error', values: readonly unknown[]) => void;
  readonly setTimeout: (callback: unknown, delay?: unknown, ...rest: unknown[]) => number;
  readonly clearTimeout: (id: unknown) => void;
  /** Ends the call with its outcome, once. */
  readonly end: (outcome: string, text: string) => void;
  /** Ends the call without an outcome. */
  readonly close: () => void;
}

export interface HostBridge {
  /** Begins a call. One before it that has not ended has no effect any more. */
  readonly beginCall: (call: number) => CallBridge;
  /** The call that was begun last. */
  readonly current: () => CallBridge;
  readonly globals: Readonly<Record<string, unknown>>;
}

export interface HostBridgeLimits {
  readonly operations: number;
  readonly fetches: number;
  readonly argumentBytes: number;
  readonly atOnce: number;
  readonly timers: number;
  readonly logLines: number;
  readonly logCharacters: number;
}

/** Runs in an isolate, before any author code. */
export function makeHostBridge(post: PostToRunner, values: OutcomeUtils, limits: HostBridgeLimits): HostBridge {
  const { parse, stringify } = JSON;
  const { now } = Date;
  const Promises = Promise;
  const Errors = Error;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call) as <T, A extends unknown[], R>(
    fn: (this: T, ...rest: A) => R,
  ) => (self: T, ...rest: A) => R;
  const slice = uncurry(String.prototype.slice);
  const { freeze } = Object;

  interface Query {
    readonly number: number;
    readonly operation: string;
    readonly argument: string;
    readonly resolve: (value: unknown) => void;
    readonly reject: (error: unknown) => void;
    next: Query | null;
  }
  const tooMuch = (message: string) =>
    values.makeError({ code: 'function-limits-exceeded', status: 400, message, details: { retryable: false } });

  const hasEnded = () =>
    values.makeError({
      code: 'function-limits-exceeded',
      status: 400,
      message: 'The call of this ctx has ended',
      details: { retryable: false },
    });

  interface Timer {
    readonly id: number;
    readonly at: number;
    readonly run: () => void;
    next: Timer | null;
  }
  const word = (value: unknown): string => {
    if (typeof value === 'string') return value;
    try {
      if (value instanceof Error) {
        const thrown = values.describe(value);
        return thrown.stack ?? thrown.message;
      }
      return typeof value === 'object' && value !== null ? (stringify(value) ?? String(value)) : String(value);
    } catch {
      return '(a value that cannot be shown)';
    }
  };

  /** Numbers of timers are those of the context: code may keep one of an ended call and clear it. */
  let createdTimers = 0;

  const makeCallBridge = (call: number): CallBridge => {
    let isOver = false;
    const waiting: { first: Query | null; last: Query | null } = { first: null, last: null };
    let open: Query | null = null;
    let openCount = 0;
    let requested = 0;
    let fetches = 0;

    const sendNext = (): void => {
      while (openCount < limits.atOnce && waiting.first !== null) {
        const query = waiting.first;
        waiting.first = query.next;
        if (waiting.first === null) waiting.last = null;
        query.next = open;
        open = query;
        openCount += 1;
        post('ask', call, query.number, query.operation, query.argument);
      }
    };

    const request = async (operation: string, given: unknown): Promise<unknown> => {
      // Of a closure that outlived its call: what it asks for must not be done with the rights of a later one.
      if (isOver) throw hasEnded();
      const argument = stringify(given);
      if (argument.length > limits.argumentBytes) throw tooMuch('The argument is longer than 1 MB');
      requested += 1;
      if (requested > limits.operations) throw tooMuch(`A call can perform at most ${limits.operations} operations`);
      if (operation === 'fetch') fetches += 1;
      if (fetches > limits.fetches) throw tooMuch(`A call can use at most ${limits.fetches} fetches`);
      const number = requested;
      try {
        return await new Promises((resolve, reject) => {
          const query: Query = { number, operation, argument, resolve, reject, next: null };
          if (waiting.last === null) waiting.first = query;
          else waiting.last.next = query;
          waiting.last = query;
          sendNext();
        });
      } catch (refused) {
        // Created here, where the stack contains the author's lines that await the response.
        throw values.makeError(refused as HostError);
      }
    };

    const hostResult = (number: number, ok: boolean, text: string): void => {
      let before: Query | null = null;
      let query = open;
      while (query !== null && query.number !== number) {
        before = query;
        query = query.next;
      }
      if (query === null) return;
      if (before === null) open = query.next;
      else before.next = query.next;
      openCount -= 1;
      if (ok) query.resolve(parse(text));
      else query.reject(parse(text));
      sendNext();
    };

    /** Ordered by time. The host wakes the call for the first one only. */
    let timers: Timer | null = null;
    let timerCount = 0;
    let wakeAt = Number.POSITIVE_INFINITY;

    const wake = (): void => {
      if (timers === null || timers.at >= wakeAt) return;
      wakeAt = timers.at;
      const wait = wakeAt - now();
      post('wake', call, wait > 0 ? wait : 0, '', '');
    };

    const setTimeout = (callback: unknown, delay: unknown = 0, ...rest: unknown[]): number => {
      if (typeof callback !== 'function') throw new TypeError('setTimeout requires a function');
      if (timerCount >= limits.timers) throw tooMuch(`A call can have at most ${limits.timers} timers`);
      const wait = Number(delay);
      createdTimers += 1;
      const id = createdTimers;
      if (isOver) return id;
      timerCount += 1;
      const timer: Timer = { id, at: now() + (wait > 0 ? wait : 0), run: () => callback(...rest), next: null };
      let before: Timer | null = null;
      for (let after = timers; after !== null && after.at <= timer.at; after = after.next) before = after;
      if (before === null) {
        timer.next = timers;
        timers = timer;
      } else {
        timer.next = before.next;
        before.next = timer;
      }
      wake();
      return id;
    };

    const clearTimeout = (id: unknown): void => {
      let before: Timer | null = null;
      for (let timer = timers; timer !== null; timer = timer.next) {
        if (timer.id === id) {
          if (before === null) timers = timer.next;
          else before.next = timer.next;
          timerCount -= 1;
          return;
        }
        before = timer;
      }
    };

    const woken = (): void => {
      wakeAt = Number.POSITIVE_INFINITY;
      const time = now() + 1;
      try {
        // One at a time: one may throw, but the others are still due.
        if (timers !== null && timers.at <= time) {
          const timer = timers;
          timers = timer.next;
          timerCount -= 1;
          timer.run();
        }
      } catch (error) {
        log('error', ['An error in a timer:', error]);
        throw new Errors('An error in a timer');
      } finally {
        wake();
      }
    };

    let lines = 0;
    let characters = 0;
    const log = (level: 'info' | 'warn' | 'error', given: readonly unknown[]): void => {
      if (isOver || lines >= limits.logLines || characters >= limits.logCharacters) return;
      let text = '';
      for (let index = 0; index < given.length && text.length < limits.logCharacters; index += 1) {
        text += `${index === 0 ? '' : ' '}${slice(word(given[index]), 0, limits.logCharacters)}`;
      }
      text = slice(text, 0, limits.logCharacters - characters);
      lines += 1;
      characters += text.length;
      post('log', call, 0, level, text);
    };

    const close = (): void => {
      isOver = true;
      waiting.first = waiting.last = open = timers = null;
    };

    const end = (outcome: string, text: string): void => {
      if (isOver) return;
      close();
      post('done', call, 0, outcome, text);
    };

    return { call, request, hostResult, woken, log, setTimeout, clearTimeout, end, close };
  };

  let current = makeCallBridge(0);
  const beginCall = (call: number): CallBridge => {
    current.close();
    current = makeCallBridge(call);
    return current;
  };

  const at =
    (level: 'info' | 'warn' | 'error') =>
    (...given: unknown[]): void =>
      current.log(level, given);
  const [info, warn, error] = [at('info'), at('warn'), at('error')];
  const console = freeze({ log: info, info, debug: info, trace: info, warn, error });

  const setTimeout = (callback: unknown, delay: unknown = 0, ...rest: unknown[]): number =>
    current.setTimeout(callback, delay, ...rest);
  const clearTimeout = (id: unknown): void => current.clearTimeout(id);

  return { beginCall, current: () => current, globals: { setTimeout, clearTimeout, console } };
}
