/**
 * How code inside an isolate asks its host: a few questions at a time, each answered once. Also the clock of `setTimeout` and the
 * bounded log. The function is sent to the isolate as text, so it uses nothing from outside of itself.
 */
import type { HostError, Values } from './values.ts';

/** Sends to the runner: a word for what it is, and texts. */
export type Post = (what: 'ask' | 'log' | 'wake' | 'done', number: number, name: string, text: string) => void;

export interface HostAsking {
  /** Asks for an operation. Resolves with what the host answers, rejects with a MillraceError. */
  readonly ask: (operation: string, argument: unknown) => Promise<unknown>;
  /** An answer has come. */
  readonly answered: (number: number, ok: boolean, text: string) => void;
  /** The time of a timer may have come. */
  readonly woken: () => void;
  readonly log: (level: 'info' | 'warn' | 'error', values: readonly unknown[]) => void;
  readonly globals: Readonly<Record<string, unknown>>;
}

export interface AskingLimits {
  readonly operations: number;
  readonly fetches: number;
  readonly argumentBytes: number;
  readonly atOnce: number;
  readonly timers: number;
  readonly logLines: number;
  readonly logCharacters: number;
}

/** Made in an isolate, before any code of an author. */
export function makeAsking(post: Post, values: Values, limits: AskingLimits): HostAsking {
  const { parse, stringify } = JSON;
  const { now } = Date;
  const Promises = Promise;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call) as <T, A extends unknown[], R>(
    fn: (this: T, ...rest: A) => R,
  ) => (self: T, ...rest: A) => R;
  const slice = uncurry(String.prototype.slice);
  const { freeze } = Object;

  interface Question {
    readonly number: number;
    readonly operation: string;
    readonly argument: string;
    readonly resolve: (value: unknown) => void;
    readonly reject: (error: unknown) => void;
    next: Question | null;
  }
  const waiting: { first: Question | null; last: Question | null } = { first: null, last: null };
  let open: Question | null = null;
  let openCount = 0;
  let asked = 0;
  let fetches = 0;

  const tooMuch = (message: string) =>
    values.makeError({ code: 'function-limit', status: 400, message, details: { retryable: false } });

  const sendNext = (): void => {
    while (openCount < limits.atOnce && waiting.first !== null) {
      const question = waiting.first;
      waiting.first = question.next;
      if (waiting.first === null) waiting.last = null;
      question.next = open;
      open = question;
      openCount += 1;
      post('ask', question.number, question.operation, question.argument);
    }
  };

  const ask = async (operation: string, given: unknown): Promise<unknown> => {
    const argument = stringify(given);
    if (argument.length > limits.argumentBytes) throw tooMuch('The argument is longer than 1 MB');
    asked += 1;
    if (asked > limits.operations) throw tooMuch(`A call can ask for ${limits.operations} operations`);
    if (operation === 'fetch') fetches += 1;
    if (fetches > limits.fetches) throw tooMuch(`A call can fetch ${limits.fetches} times`);
    const number = asked;
    try {
      return await new Promises((resolve, reject) => {
        const question: Question = { number, operation, argument, resolve, reject, next: null };
        if (waiting.last === null) waiting.first = question;
        else waiting.last.next = question;
        waiting.last = question;
        sendNext();
      });
    } catch (refused) {
      // Made here, because here the stack names the lines of the author that wait for the answer.
      throw values.makeError(refused as HostError);
    }
  };

  const answered = (number: number, ok: boolean, text: string): void => {
    let before: Question | null = null;
    let question = open;
    while (question !== null && question.number !== number) {
      before = question;
      question = question.next;
    }
    if (question === null) return;
    if (before === null) open = question.next;
    else before.next = question.next;
    openCount -= 1;
    if (ok) question.resolve(parse(text));
    else question.reject(parse(text));
    sendNext();
  };

  interface Timer {
    readonly id: number;
    readonly at: number;
    readonly run: () => void;
    next: Timer | null;
  }
  /** In the order of their times. The host is asked to wake the call for the first one alone. */
  let timers: Timer | null = null;
  let timerCount = 0;
  let made = 0;
  let wakeAt = Number.POSITIVE_INFINITY;

  const wake = (): void => {
    if (timers === null || timers.at >= wakeAt) return;
    wakeAt = timers.at;
    const wait = wakeAt - now();
    post('wake', wait > 0 ? wait : 0, '', '');
  };

  const setTimeout = (callback: unknown, delay: unknown = 0, ...rest: unknown[]): number => {
    if (typeof callback !== 'function') throw new TypeError('setTimeout takes a function');
    if (timerCount >= limits.timers) throw tooMuch(`A call can have ${limits.timers} timers`);
    const wait = Number(delay);
    made += 1;
    timerCount += 1;
    const timer: Timer = { id: made, at: now() + (wait > 0 ? wait : 0), run: () => callback(...rest), next: null };
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
    return made;
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
      // One at a time: the first of them may throw, and the others are due nevertheless.
      if (timers !== null && timers.at <= time) {
        const timer = timers;
        timers = timer.next;
        timerCount -= 1;
        timer.run();
      }
    } catch (error) {
      log('error', ['An error in a timer:', error]);
    } finally {
      wake();
    }
  };

  let lines = 0;
  let characters = 0;
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
  const log = (level: 'info' | 'warn' | 'error', given: readonly unknown[]): void => {
    if (lines >= limits.logLines || characters >= limits.logCharacters) return;
    let text = '';
    for (let index = 0; index < given.length && text.length < limits.logCharacters; index += 1) {
      text += `${index === 0 ? '' : ' '}${slice(word(given[index]), 0, limits.logCharacters)}`;
    }
    text = slice(text, 0, limits.logCharacters - characters);
    lines += 1;
    characters += text.length;
    post('log', 0, level, text);
  };
  const at =
    (level: 'info' | 'warn' | 'error') =>
    (...given: unknown[]): void =>
      log(level, given);
  const [info, warn, error] = [at('info'), at('warn'), at('error')];
  const console = freeze({ log: info, info, debug: info, trace: info, warn, error });

  return { ask, answered, woken, log, globals: { setTimeout, clearTimeout, console } };
}
