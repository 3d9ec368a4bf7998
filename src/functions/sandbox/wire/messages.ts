/**
 * The heads of frames between the server and the runner, and the validation of those from the runner, which may be compromised,
 * so none is trusted.
 */
import {
  type BundleError,
  CALL_ERROR_CODES,
  type CallContextData,
  type CallErrorCode,
  type FunctionKind,
  HOST_OPERATIONS,
  type HostOperation,
  type LogLine,
  type RunLimits,
  type WriteHookRefusal,
} from '../sandbox.ts';

/** The file descriptor of the pipe in the runner. */
export const RUNNER_PIPE_FD = 3;

/** From the server to the runner. A capability identifies a call; it is random and new for each. */
export type ServerMessage =
  /** The body has the files, as an array of pairs. */
  | { readonly type: 'load'; readonly bundle: string }
  | { readonly type: 'drop'; readonly bundle: string }
  /** The body is the input. */
  | {
      readonly type: 'call';
      readonly call: string;
      readonly bundle: string;
      /** Calls of the same group share contexts; null for a context of its own. */
      readonly group: string | null;
      readonly file: string;
      readonly kind: FunctionKind;
      readonly facts: CallContextData;
      readonly limits: RunLimits;
    }
  /** The body is the result of the operation, or its error. */
  | { readonly type: 'answer'; readonly call: string; readonly number: number; readonly ok: boolean }
  | { readonly type: 'check'; readonly check: string; readonly bundle: string; readonly entries: readonly string[] };

/** The outcome of a call. The value or the body of the response is the body of the frame. */
export type WireOutcome =
  | { readonly kind: 'value' }
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly hasBody: boolean;
      /** Whether the body is encoded as base64. */
      readonly isBase64: boolean;
    }
  | WriteHookRefusal
  | { readonly kind: 'error'; readonly code: CallErrorCode; readonly message: string; readonly stack: string | null };

/** From the runner to the server. */
export type RunnerMessage =
  | { readonly type: 'ready' }
  /** The body is the argument. */
  | { readonly type: 'host'; readonly call: string; readonly number: number; readonly operation: HostOperation }
  /** The body is the line. */
  | { readonly type: 'log'; readonly call: string; readonly level: LogLine['level'] }
  | { readonly type: 'result'; readonly call: string; readonly cpuMs: number; readonly outcome: WireOutcome }
  | { readonly type: 'checked'; readonly check: string; readonly issues: readonly BundleError[] }
  /** The calls whose code has been running for a while, the longest first. */
  | { readonly type: 'busy'; readonly calls: readonly string[] }
  /** Code of this call does not stop although its isolate is disposed of: the runner has to be ended. */
  | { readonly type: 'wedged'; readonly call: string; readonly why: 'time' | 'memory' };

const MAX_MESSAGE = 2_000;
const MAX_STACK = 8_000;
const MAX_HEADERS = 100;
const MAX_HEADER = 8_192;
const MAX_ISSUES = 100;
const MAX_BUSY = 1_000;
const LEVELS: readonly string[] = ['info', 'warn', 'error'];

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: unknown, max: number): value is string {
  return typeof value === 'string' && value.length <= max;
}

function textOrNull(value: unknown, max: number): value is string | null {
  return value === null || text(value, max);
}

function count(value: unknown, max: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max;
}

/** A record without a prototype, so that a header named `__proto__` is only a header. */
function readHeaders(value: unknown): Readonly<Record<string, string>> | null {
  if (!isFields(value)) return null;
  const names = Object.keys(value);
  if (names.length > MAX_HEADERS) return null;
  const headers: Record<string, string> = Object.create(null);
  for (const name of names) {
    const field = value[name];
    if (name.length > MAX_HEADER || !text(field, MAX_HEADER)) return null;
    headers[name] = field;
  }
  return headers;
}

function readOutcome(value: unknown): WireOutcome | null {
  if (!isFields(value)) return null;
  const { kind, status, hasBody, isBase64, message, code, pointer, index, stack } = value;
  if (kind === 'value') return { kind };
  if (kind === 'response') {
    const headers = readHeaders(value['headers']);
    if (headers === null || !count(status, 599) || status < 200) return null;
    if (typeof hasBody !== 'boolean' || typeof isBase64 !== 'boolean') return null;
    return { kind, status, headers, hasBody, isBase64 };
  }
  if (!text(message, MAX_MESSAGE)) return null;
  if (kind === 'refusal') {
    if (!textOrNull(code, 100) || !textOrNull(pointer, 1_000) || !count(index, 1_000_000)) return null;
    return { kind, message, code, pointer, index };
  }
  const issue = CALL_ERROR_CODES.find((known) => known === code);
  if (kind !== 'error' || issue === undefined || !textOrNull(stack, MAX_STACK)) return null;
  return { kind, code: issue, message, stack };
}

function readIssue(value: unknown): BundleError | null {
  if (!isFields(value)) return null;
  const { file, line, column, message } = value;
  if (!text(file, 1_000) || !text(message, MAX_MESSAGE)) return null;
  if ((line !== null && !count(line, 1e9)) || (column !== null && !count(column, 1e9))) return null;
  return { file, line, column, message };
}

/** @returns the message, rebuilt from known fields; null for anything else */
export function readRunnerMessage(head: unknown): RunnerMessage | null {
  if (!isFields(head)) return null;
  const { type, call } = head;
  if (type === 'ready') return { type };
  if (type === 'busy') {
    const calls: unknown = head['calls'];
    return Array.isArray(calls) && calls.length <= MAX_BUSY && calls.every((each) => text(each, 100))
      ? { type, calls }
      : null;
  }
  if (type === 'checked') {
    const { check, issues } = head;
    if (!text(check, 100) || !Array.isArray(issues) || issues.length > MAX_ISSUES) return null;
    const read = issues.map(readIssue);
    return read.every((issue) => issue !== null) ? { type, check, issues: read } : null;
  }
  if (!text(call, 100)) return null;
  if (type === 'wedged') return { type, call, why: head['why'] === 'memory' ? 'memory' : 'time' };
  if (type === 'log') {
    const level = head['level'];
    return LEVELS.includes(level as string) ? { type, call, level: level as LogLine['level'] } : null;
  }
  if (type === 'host') {
    const operation = HOST_OPERATIONS.find((known) => known === head['operation']);
    const number = head['number'];
    return operation !== undefined && count(number, 1e6) ? { type, call, number, operation } : null;
  }
  if (type !== 'result') return null;
  const outcome = readOutcome(head['outcome']);
  const cpuMs = head['cpuMs'];
  return outcome !== null && typeof cpuMs === 'number' && cpuMs >= 0 && cpuMs < 1e9
    ? { type, call, cpuMs, outcome }
    : null;
}
