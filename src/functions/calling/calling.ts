/**
 * Calling a function: what every kind of function, a try and a repetition go through. Not here: the host's operations, and
 * where runs are stored (runs/).
 */
import type { Principal } from '../../auth/identity/principal.ts';
import type { OpenTransaction } from '../../collections/open-transaction.ts';
import type { PluginFunction } from '../plugins/plugin.ts';
import type { OperationNote } from '../runs/run.ts';
import type { CallOutcome, LogLine } from '../sandbox/sandbox.ts';

export interface FunctionCall {
  readonly fn: PluginFunction;
  /** JSON text. For `before` an array. */
  readonly input: string;
  readonly run: {
    readonly id: string;
    readonly attempt: number;
    /** How many triggers led to it: 0 for a call from outside, 1 for a trigger of a change that no run made. */
    readonly depth: number;
    /** Whether it was given something of accounts; what it schedules was, too. */
    readonly restricted: boolean;
  };
  /** The principal that asked; null for what the server runs by itself. `as: caller` needs one. */
  readonly caller: Principal | null;
  /** The transaction that its writes belong to; each write is one of its own without it. */
  readonly within: OpenTransaction | null;
  /** False for a `before`: it may read and fetch, but not write. */
  readonly mayWrite: boolean;
  /** Texts that are blanked like secrets of the plugin. */
  readonly hidden?: readonly string[];
  /** Told of each line at once, for those who watch. */
  readonly onLog?: (line: LogLine) => void;
}

export interface CallReport {
  /** Secrets are blanked in messages and stacks. A value or a response may have some: where it is kept, it is blanked. */
  readonly outcome: CallOutcome;
  readonly startedAt: Date;
  readonly durationMs: number;
  /** Secrets of the plugin are blanked. */
  readonly logs: readonly LogLine[];
  readonly operations: readonly OperationNote[];
}

export interface Calling {
  /**
   * Never rejects because of what the code does.
   * @throws MillraceError `function-quarantined`, `functions-off`, and what the transaction met that must run again
   */
  call(call: FunctionCall): Promise<CallReport>;
}
