/**
 * Dry runs: the function runs in a transaction that is rolled back, and its operations are listed. Fetches and the
 * write hooks of its writes really run; files and jobs are not created.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import type { TransactionRunner } from '../../collections/transaction-runner.ts';
import { Semaphore } from '../../lib/concurrency/semaphore.ts';
import { MillraceError } from '../../lib/errors.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import type { Plugin, PluginFunction } from '../plugins/plugin.ts';
import { pluginRedactor, type Redactor } from '../plugins/redaction.ts';
import type { OperationRecord, RunError } from '../runs/run.ts';
import { toRunError, toRunResult } from '../runs/run-result.ts';
import { newRunId } from '../runs/run-row.ts';
import type { JsonObject } from '../sandbox/host-schemas.ts';
import type { CallOutcome, LogLine } from '../sandbox/sandbox.ts';
import type { CallReport, FunctionCall } from './call-types.ts';
import type { DryRunOptions, FunctionRunner } from './function-runner.ts';

/** Concurrent and queued dry runs: each holds a session and locks the documents that it writes until the rollback. */
const AT_ONCE = 2;
const WAITING = 16;
const MAX_WALL_MS = 10_000;
/** JSON text of all writes in one response. */
const MAX_SHOWN_CHARACTERS = 1_048_576;

export interface DryRunRequest {
  readonly plugin: Plugin;
  /** Its name inside the plugin. */
  readonly function: string;
  readonly input: unknown;
  readonly caller: Principal;
}

/** An operation with the document that it would have written; null if it writes nothing or the limit is exceeded. */
export interface DryRunOperation extends OperationRecord {
  readonly written: unknown;
}

export interface DryRunResult {
  /** The returned value; for a Response its status, headers and body. */
  readonly result?: unknown;
  readonly error?: RunError;
  readonly logs: readonly LogLine[];
  readonly operations: readonly DryRunOperation[];
  readonly durationMs: number;
}

/** Rolls the transaction back. */
class RolledBack extends Error {
  readonly report: CallReport;

  constructor(report: CallReport) {
    super('Rolled back');
    this.report = report;
  }
}

export class DryRunner {
  readonly #calls: Pick<FunctionRunner, 'dryRun'>;
  readonly #atomic: TransactionRunner;
  readonly #turns = new Semaphore(AT_ONCE, WAITING);

  constructor(calls: Pick<FunctionRunner, 'dryRun'>, atomic: TransactionRunner) {
    this.#calls = calls;
    this.#atomic = atomic;
  }

  /** @throws MillraceError `function-not-found`, `functions-disabled`, `write-conflict`, `overloaded` when too many try */
  async run({ plugin, function: name, input, caller }: DryRunRequest): Promise<DryRunResult> {
    const found = plugin.functions.find((one) => one.name === name);
    if (found === undefined) {
      throw new MillraceError('function-not-found', `'${plugin.name}' has no function '${name.slice(0, 80)}'`);
    }
    const fn = { ...found, timeoutMs: Math.min(found.timeoutMs, MAX_WALL_MS) };
    const listed = new Listed(pluginRedactor(plugin));
    const report = await this.#turns.run(() => this.#rolledBack(fn, input, caller, listed));
    const { outcome, logs, durationMs } = report;
    const error = toRunError(outcome);
    const ended = error === null ? { result: shownResult(fn, outcome, pluginRedactor(plugin)) } : { error };
    return { ...ended, logs, operations: listed.operations, durationMs };
  }

  async #rolledBack(fn: PluginFunction, input: unknown, caller: Principal, listed: Listed): Promise<CallReport> {
    const { kind } = fn.options;
    const call: Omit<FunctionCall, 'within'> = {
      fn,
      // A write hook receives an array of writes; a dry run sends one.
      input: JSON.stringify(kind === 'beforeWrite' ? [input] : input),
      run: { id: newRunId(), attempt: 1, depth: 0, restricted: false },
      caller,
      mayWrite: kind !== 'beforeWrite',
    };
    const pretence: DryRunOptions = {
      jobs: { schedule: async () => ({ id: 'job_tried' }) },
      onDone: (log, argument) => listed.add(log, argument?.fields ?? {}),
    };
    try {
      return await this.#atomic.run(async (within) => {
        // A conflict restarts the call: discard the operations of the earlier attempt.
        listed.clear();
        throw new RolledBack(await this.#calls.dryRun({ ...call, within }, pretence));
      });
    } catch (error) {
      if (error instanceof RolledBack) return error.report;
      throw error;
    }
  }
}

/** The operations of one dry run with the documents that they would have written, up to a limit. */
class Listed {
  readonly operations: DryRunOperation[] = [];
  readonly #blank: Redactor;
  #characters = 0;

  constructor(blank: Redactor) {
    this.#blank = blank;
  }

  clear(): void {
    this.operations.length = 0;
    this.#characters = 0;
  }

  add(log: OperationRecord, fields: JsonObject): void {
    const written = writtenBy(log.operation, fields);
    const text = written === null ? '' : JSON.stringify(written);
    const isShown = this.#characters + text.length <= MAX_SHOWN_CHARACTERS;
    if (isShown) this.#characters += text.length;
    this.operations.push({ ...log, written: isShown ? withoutSecrets(written, this.#blank) : null });
  }
}

function writtenBy(operation: string, fields: JsonObject): unknown {
  const { collection: _, id: __, ifMatch: ___, ...rest } = fields;
  switch (operation) {
    case 'documents.create':
    case 'documents.replace':
      return fields['document'] ?? null;
    case 'documents.patch':
      return fields['changes'] ?? null;
    case 'documents.update':
      return fields['operators'] ?? null;
    case 'batch':
      return fields['operations'] ?? null;
    case 'files.create':
    case 'schedule':
      return rest;
    default:
      return null;
  }
}

function shownResult({ options }: PluginFunction, outcome: CallOutcome, blank: Redactor): unknown {
  const value: unknown = JSON.parse(toRunResult(outcome) ?? 'null');
  const one: unknown = options.kind === 'beforeWrite' && Array.isArray(value) ? (value[0] ?? null) : value;
  return withoutSecrets(one, blank);
}

/** The same value with every text redacted. */
function withoutSecrets(value: unknown, blank: Redactor): unknown {
  if (typeof value === 'string') return blank(value);
  if (Array.isArray(value)) return value.map((item: unknown) => withoutSecrets(item, blank));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [blank(name), withoutSecrets(field, blank)]));
}
