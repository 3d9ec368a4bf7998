/**
 * Tries a function: it runs in a transaction that is rolled back, and everything that it did is listed. Fetches are really made,
 * and so are calls of befores by its writes; files and jobs are not made. Not here: HTTP (http/).
 */
import type { Principal } from '../../auth/identity/principal.ts';
import type { Atomic } from '../../collections/atomic.ts';
import { Semaphore } from '../../kernel/concurrency/semaphore.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { isPlain } from '../../kernel/objects.ts';
import { type Blank, blanking } from '../plugins/blanking.ts';
import type { Plugin, PluginFunction } from '../plugins/plugin.ts';
import { errorOf, resultOf } from '../runs/ended-run.ts';
import type { OperationNote, RunError } from '../runs/run.ts';
import { newRunId } from '../runs/run-row.ts';
import type { HostObject } from '../sandbox/host-shapes.ts';
import type { CallOutcome, LogLine } from '../sandbox/sandbox.ts';
import type { CallReport, FunctionCall } from './calling.ts';
import type { FunctionCalls, Pretence } from './function-calls.ts';

/** Tries at one time, and those that wait: each holds a session and locks what it writes until it is rolled back. */
const AT_ONCE = 2;
const WAITING = 16;
const MAX_WALL_MS = 10_000;
/** JSON text of all that an answer shows as written. */
const MAX_SHOWN_CHARACTERS = 1_048_576;

export interface Tried {
  readonly plugin: Plugin;
  /** Its name inside the plugin. */
  readonly function: string;
  readonly input: unknown;
  readonly caller: Principal;
}

/** An operation, with what it would have written; null for one that writes nothing, or shows too much. */
export interface TriedOperation extends OperationNote {
  readonly written: unknown;
}

export interface TryAnswer {
  /** What was returned; of a Response its status, headers and body. */
  readonly result?: unknown;
  readonly error?: RunError;
  readonly logs: readonly LogLine[];
  readonly operations: readonly TriedOperation[];
  readonly durationMs: number;
}

/** Ends the transaction of a try. */
class RolledBack extends Error {
  readonly report: CallReport;

  constructor(report: CallReport) {
    super('Only tried');
    this.report = report;
  }
}

export class TryOut {
  readonly #calls: Pick<FunctionCalls, 'pretend'>;
  readonly #atomic: Atomic;
  readonly #turns = new Semaphore(AT_ONCE, WAITING);

  constructor(calls: Pick<FunctionCalls, 'pretend'>, atomic: Atomic) {
    this.#calls = calls;
    this.#atomic = atomic;
  }

  /** @throws MillraceError `function-not-found`, `functions-off`, `contention`, `overloaded` when too many try */
  async run({ plugin, function: name, input, caller }: Tried): Promise<TryAnswer> {
    const found = plugin.functions.find((one) => one.name === name);
    if (found === undefined) {
      throw new MillraceError('function-not-found', `'${plugin.name}' has no function '${name.slice(0, 80)}'`);
    }
    const fn = { ...found, timeoutMs: Math.min(found.timeoutMs, MAX_WALL_MS) };
    const listed = new Listed(blanking(plugin));
    const report = await this.#turns.run(() => this.#rolledBack(fn, input, caller, listed));
    const { outcome, logs, durationMs } = report;
    const error = errorOf(outcome);
    const ended = error === null ? { result: shownResult(fn, outcome, blanking(plugin)) } : { error };
    return { ...ended, logs, operations: listed.operations, durationMs };
  }

  async #rolledBack(fn: PluginFunction, input: unknown, caller: Principal, listed: Listed): Promise<CallReport> {
    const { kind } = fn.use;
    const call: Omit<FunctionCall, 'within'> = {
      fn,
      // A before is shown several writes at once; here it is one.
      input: JSON.stringify(kind === 'before' ? [input] : input),
      run: { id: newRunId(), attempt: 1, depth: 0, restricted: false },
      caller,
      mayWrite: kind !== 'before',
    };
    const pretence: Pretence = {
      jobs: { schedule: async () => ({ id: 'job_tried' }) },
      onDone: (note, argument) => listed.add(note, argument?.members ?? {}),
    };
    try {
      return await this.#atomic.run(async (within) => {
        // A conflict runs it again: then what it did before does not count.
        listed.clear();
        throw new RolledBack(await this.#calls.pretend({ ...call, within }, pretence));
      });
    } catch (error) {
      if (error instanceof RolledBack) return error.report;
      throw error;
    }
  }
}

/** The operations of one try, with what they would have written, as long as that is not too much. */
class Listed {
  readonly operations: TriedOperation[] = [];
  readonly #blank: Blank;
  #characters = 0;

  constructor(blank: Blank) {
    this.#blank = blank;
  }

  clear(): void {
    this.operations.length = 0;
    this.#characters = 0;
  }

  add(note: OperationNote, members: HostObject): void {
    const written = writtenBy(note.operation, members);
    const text = written === null ? '' : JSON.stringify(written);
    const isShown = this.#characters + text.length <= MAX_SHOWN_CHARACTERS;
    if (isShown) this.#characters += text.length;
    this.operations.push({ ...note, written: isShown ? withoutSecrets(written, this.#blank) : null });
  }
}

function writtenBy(operation: string, members: HostObject): unknown {
  const { collection: _, id: __, ifMatch: ___, ...rest } = members;
  switch (operation) {
    case 'documents.create':
    case 'documents.replace':
      return members['document'] ?? null;
    case 'documents.patch':
      return members['changes'] ?? null;
    case 'documents.update':
      return members['operators'] ?? null;
    case 'batch':
      return members['operations'] ?? null;
    case 'files.create':
    case 'schedule':
      return rest;
    default:
      return null;
  }
}

function shownResult({ use }: PluginFunction, outcome: CallOutcome, blank: Blank): unknown {
  const value: unknown = JSON.parse(resultOf(outcome) ?? 'null');
  const one: unknown = use.kind === 'before' && Array.isArray(value) ? (value[0] ?? null) : value;
  return withoutSecrets(one, blank);
}

/** The same value with every text in it blanked. */
function withoutSecrets(value: unknown, blank: Blank): unknown {
  if (typeof value === 'string') return blank(value);
  if (Array.isArray(value)) return value.map((item: unknown) => withoutSecrets(item, blank));
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [blank(name), withoutSecrets(member, blank)]),
  );
}
