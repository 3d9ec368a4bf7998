/** Calling a function: shared by all kinds of functions, dry runs and reruns. */
import type { Principal } from '../../auth/identity/principal.ts';
import type { TransactionContext } from '../../collections/open-transaction.ts';
import type { PluginFunction } from '../plugins/plugin.ts';
import type { OperationRecord } from '../runs/run.ts';
import type { CallOutcome, LogLine } from '../sandbox/sandbox.ts';

export interface FunctionCall {
  readonly fn: PluginFunction;
  /** JSON text. For `beforeWrite` an array. */
  readonly input: string;
  readonly run: {
    readonly id: string;
    readonly attempt: number;
    /**
     * Length of the chain of triggers that led to it: 0 for a call from outside, 1 for a trigger of a change that no
     * run caused.
     */
    readonly depth: number;
    /** Whether its input contains user data; jobs that it schedules inherit this. */
    readonly restricted: boolean;
  };
  /** The calling principal; null for runs that the server starts itself. `as: caller` requires one. */
  readonly caller: Principal | null;
  /** The transaction of its writes; null gives each write its own. */
  readonly within: TransactionContext | null;
  /** False for a write hook: it may read and fetch, but not write. */
  readonly mayWrite: boolean;
  /** Texts that are redacted like secrets of the plugin. */
  readonly hidden?: readonly string[];
  /** Receives each line immediately, for live logs. */
  readonly onLog?: (line: LogLine) => void;
}

export interface CallReport {
  /**
   * Secrets are redacted in messages and stacks. Values and responses may contain some; they are redacted before they
   * are stored.
   */
  readonly outcome: CallOutcome;
  readonly startedAt: Date;
  readonly durationMs: number;
  /** Redacted. */
  readonly logs: readonly LogLine[];
  readonly operations: readonly OperationRecord[];
}

export interface FunctionInvoker {
  /**
   * Never rejects because of the function's code.
   * @throws MillraceError `function-quarantined`, `functions-disabled`, and transaction conflicts that require a new
   * attempt
   */
  call(call: FunctionCall): Promise<CallReport>;
}
