/**
 * The host API of one call: the only way from a function's code to the server. It counts operations, serializes those
 * of a transaction, records them, and ends them with the call. Inside a transaction, two errors end the transaction
 * even if the code catches them: a write conflict (the call runs again), and an operation that the database rejects,
 * such as a duplicate unique value (nothing of the run is stored; decisions/0135).
 */
import type { TransactionContext } from '../../../collections/open-transaction.ts';
import { isDatabaseError } from '../../../database/errors.ts';
import { isTransactionConflict } from '../../../database/transactions.ts';
import { Semaphore } from '../../../lib/concurrency/semaphore.ts';
import { MillraceError } from '../../../lib/errors.ts';
import type { OperationRecord } from '../../runs/run.ts';
import { MAX_ARGUMENT_BYTES, MAX_FETCHES, MAX_HOST_OPERATIONS, maxResultBytes } from '../../sandbox/host-schemas.ts';
import type { HostOperation } from '../../sandbox/sandbox.ts';
import type { HostAction, HostActions } from './host-action.ts';
import { callEndedError, functionLimitError } from './host-errors.ts';
import { OperationArgument } from './operation-argument.ts';

/** Concurrent operations of one call outside a transaction, and file operations, which hold bytes in memory. */
const AT_ONCE = 8;
const FILES_AT_ONCE = 2;

export interface HostApiOptions {
  readonly actions: HostActions;
  readonly within: TransactionContext | null;
  readonly mayWrite: boolean;
  /** Called with unexpected errors; the code gets `internal`. */
  readonly onError: (error: unknown) => void;
  /** Called after each operation, with its argument. The length of the target is not bounded. */
  readonly onDone: (log: OperationRecord, argument: OperationArgument | null) => void;
}

export class HostApi {
  readonly #options: HostApiOptions;
  readonly #end = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #lanes: { readonly documents: Semaphore; readonly files: Semaphore };
  #operations = 0;
  #fetches = 0;
  /** The error that ended the transaction; further operations in it fail. */
  #over: { readonly error: unknown; readonly runsAgain: boolean } | null = null;

  constructor(options: HostApiOptions) {
    this.#options = options;
    this.#lanes = {
      // MongoDB runs one operation of a transaction at a time.
      documents: new Semaphore(options.within === null ? AT_ONCE : 1, MAX_HOST_OPERATIONS),
      files: new Semaphore(FILES_AT_ONCE, MAX_HOST_OPERATIONS),
    };
  }

  /**
   * Runs one operation for the sandbox.
   * @throws MillraceError
   */
  async run(operation: HostOperation, text: string): Promise<string> {
    this.#count(operation, text);
    const work = this.#noted(operation, text);
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  /**
   * Ends the call: aborts fetches and file reads, drops queued operations, and waits for running database operations.
   * Nothing runs for the call afterwards.
   */
  async end(): Promise<void> {
    this.#end.abort(callEndedError());
    await Promise.allSettled(this.#underWay);
  }

  /**
   * Why the transaction of the call cannot be committed, even if the code caught the error; null if it can.
   * @throws transaction conflicts that require a new attempt
   */
  verdict(): MillraceError | null {
    if (this.#over === null) return null;
    const { error, runsAgain } = this.#over;
    if (runsAgain) throw error;
    return error instanceof MillraceError ? error : unexpected(error);
  }

  #count(operation: HostOperation, text: string): void {
    if (this.#end.signal.aborted) throw callEndedError();
    this.#operations += 1;
    if (operation === 'fetch') this.#fetches += 1;
    if (this.#operations > MAX_HOST_OPERATIONS) throw functionLimitError(`More than ${MAX_HOST_OPERATIONS} operations`);
    if (this.#fetches > MAX_FETCHES) throw functionLimitError(`More than ${MAX_FETCHES} fetches`);
    if (text.length > MAX_ARGUMENT_BYTES)
      throw functionLimitError(`The argument is larger than ${MAX_ARGUMENT_BYTES} bytes`);
  }

  async #noted(operation: HostOperation, text: string): Promise<string> {
    const begun = performance.now();
    const action = this.#options.actions[operation];
    let argument: OperationArgument | null = null;
    const log = (error: string | null) => {
      const target = argument === null ? '' : action.target(argument);
      this.#options.onDone({ operation, target, durationMs: performance.now() - begun, error }, argument);
    };
    try {
      argument = new OperationArgument(text);
      if (action.writes && !this.#options.mayWrite) {
        throw new MillraceError(
          'forbidden',
          'A write hook must not write: its writes would be kept even if the write is rejected',
        );
      }
      const result = await this.#inTurn(operation, action, argument);
      if (Buffer.byteLength(result) > maxResultBytes(operation)) {
        throw functionLimitError(`The result is larger than ${maxResultBytes(operation)} bytes`);
      }
      log(null);
      return result;
    } catch (error) {
      const reported = this.#reported(error);
      log(reported.code);
      throw reported;
    }
  }

  #inTurn(operation: HostOperation, action: HostAction, argument: OperationArgument): Promise<string> {
    const { queue } = action;
    const run = (): Promise<string> => {
      this.#end.signal.throwIfAborted();
      if (this.#over !== null) throw this.#over.error;
      return action.run(argument, this.#end.signal);
    };
    if (queue === 'free') return run();
    if (queue === 'files' || this.#options.within === null) return this.#lanes[queue].run(run);
    return this.#lanes.documents.run(() => this.#inTransaction(operation, run, this.#options.within));
  }

  async #inTransaction(
    operation: HostOperation,
    run: () => Promise<string>,
    within: TransactionContext | null,
  ): Promise<string> {
    try {
      return await run();
    } catch (error) {
      if (this.#over === null && !this.#end.signal.aborted) this.#look(operation, error, within);
      throw error;
    }
  }

  #look(operation: HostOperation, error: unknown, within: TransactionContext | null): void {
    const runsAgain = isTransactionConflict(error) || within?.needsLargeLock === true;
    // A batch may have failed after its first writes, which cannot be rolled back separately.
    const isOver = runsAgain || operation === 'batch' || isDatabaseError(error) || !(error instanceof MillraceError);
    if (isOver) this.#over = { error, runsAgain };
  }

  #reported(error: unknown): MillraceError {
    if (error instanceof MillraceError) {
      if (error.code === 'internal') this.#options.onError(error);
      return error;
    }
    if (isTransactionConflict(error)) {
      return new MillraceError('write-conflict', 'Another write came first; the run starts again', { cause: error });
    }
    this.#options.onError(error);
    return unexpected(error);
  }
}

function unexpected(cause: unknown): MillraceError {
  return new MillraceError('internal', 'The operation failed unexpectedly', { cause });
}
