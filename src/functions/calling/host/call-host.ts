/**
 * The host of one call: the only way from the code of a function to everything else. It counts the operations, lets those of a
 * transaction go one after the other, notes them, and ends them with the call. Not here: what each operation does (the actions).
 *
 * Inside a transaction MongoDB decides two things that no code may catch away. A passing conflict ends the transaction: all of it
 * runs again. And an operation that the database refuses, such as a value that must be unique, ends it too: then nothing of the
 * run is stored (decisions/0135).
 */
import type { OpenTransaction } from '../../../collections/open-transaction.ts';
import { isOfDatabase } from '../../../database/errors.ts';
import { isConflict } from '../../../database/transactions.ts';
import { Semaphore } from '../../../kernel/concurrency/semaphore.ts';
import { MillraceError } from '../../../kernel/errors.ts';
import type { OperationNote } from '../../runs/run.ts';
import { MAX_ARGUMENT_BYTES, MAX_FETCHES, MAX_HOST_OPERATIONS, maxResultBytes } from '../../sandbox/host-shapes.ts';
import type { HostOperation } from '../../sandbox/sandbox.ts';
import { Argument } from './argument.ts';
import type { HostAction, HostActions } from './host-action.ts';
import { callEnded, functionLimit } from './host-errors.ts';

/** Operations of one call at one time, outside of a transaction; and files, which are held in memory. */
const AT_ONCE = 8;
const FILES_AT_ONCE = 2;

export interface CallHostOptions {
  readonly actions: HostActions;
  readonly within: OpenTransaction | null;
  readonly mayWrite: boolean;
  /** Told of errors that nobody expects; the code sees `internal`. */
  readonly onError: (error: unknown) => void;
  /** Told of each operation when it has ended, with its argument. The target is as long as the code made it. */
  readonly onDone: (note: OperationNote, argument: Argument | null) => void;
}

export class CallHost {
  readonly #options: CallHostOptions;
  readonly #end = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #lanes: { readonly documents: Semaphore; readonly files: Semaphore };
  #operations = 0;
  #fetches = 0;
  /** What ended the transaction; nothing more is done in it. */
  #over: { readonly error: unknown; readonly runsAgain: boolean } | null = null;

  constructor(options: CallHostOptions) {
    this.#options = options;
    this.#lanes = {
      // MongoDB takes one operation of a transaction at a time.
      documents: new Semaphore(options.within === null ? AT_ONCE : 1, MAX_HOST_OPERATIONS),
      files: new Semaphore(FILES_AT_ONCE, MAX_HOST_OPERATIONS),
    };
  }

  /** Does one operation, as the sandbox asks for it. @throws MillraceError */
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
   * Ends the call: fetches and the reading of files stop, what waits for its turn is not begun, and what the database does
   * already is waited for. Nothing happens in its name afterwards.
   */
  async end(): Promise<void> {
    this.#end.abort(callEnded());
    await Promise.allSettled(this.#underWay);
  }

  /**
   * Why the transaction of the call cannot be committed, also where the code has caught the error; null when it can be.
   * @throws what the transaction met that must run again
   */
  verdict(): MillraceError | null {
    if (this.#over === null) return null;
    const { error, runsAgain } = this.#over;
    if (runsAgain) throw error;
    return error instanceof MillraceError ? error : unexpected(error);
  }

  #count(operation: HostOperation, text: string): void {
    if (this.#end.signal.aborted) throw callEnded();
    this.#operations += 1;
    if (operation === 'fetch') this.#fetches += 1;
    if (this.#operations > MAX_HOST_OPERATIONS) throw functionLimit(`More than ${MAX_HOST_OPERATIONS} operations`);
    if (this.#fetches > MAX_FETCHES) throw functionLimit(`More than ${MAX_FETCHES} fetches`);
    if (text.length > MAX_ARGUMENT_BYTES) throw functionLimit(`An argument of more than ${MAX_ARGUMENT_BYTES} bytes`);
  }

  async #noted(operation: HostOperation, text: string): Promise<string> {
    const begun = performance.now();
    const action = this.#options.actions[operation];
    let argument: Argument | null = null;
    const note = (error: string | null) => {
      const target = argument === null ? '' : action.target(argument);
      this.#options.onDone({ operation, target, durationMs: performance.now() - begun, error }, argument);
    };
    try {
      argument = new Argument(text);
      if (action.writes && !this.#options.mayWrite) {
        throw new MillraceError(
          'forbidden',
          'A before function may not write: it would have an effect without the write',
        );
      }
      const result = await this.#inTurn(operation, action, argument);
      if (Buffer.byteLength(result) > maxResultBytes(operation)) {
        throw functionLimit(`A result of more than ${maxResultBytes(operation)} bytes`);
      }
      note(null);
      return result;
    } catch (error) {
      const told = this.#told(error);
      note(told.code);
      throw told;
    }
  }

  #inTurn(operation: HostOperation, action: HostAction, argument: Argument): Promise<string> {
    const { lane } = action;
    const run = (): Promise<string> => {
      this.#end.signal.throwIfAborted();
      if (this.#over !== null) throw this.#over.error;
      return action.run(argument, this.#end.signal);
    };
    if (lane === 'free') return run();
    if (lane === 'files' || this.#options.within === null) return this.#lanes[lane].run(run);
    return this.#lanes.documents.run(() => this.#inTransaction(operation, run, this.#options.within));
  }

  async #inTransaction(
    operation: HostOperation,
    run: () => Promise<string>,
    within: OpenTransaction | null,
  ): Promise<string> {
    try {
      return await run();
    } catch (error) {
      if (this.#over === null && !this.#end.signal.aborted) this.#look(operation, error, within);
      throw error;
    }
  }

  #look(operation: HostOperation, error: unknown, within: OpenTransaction | null): void {
    const runsAgain = isConflict(error) || within?.needsTurn === true;
    // A batch may have failed after its first writes, and those cannot be taken back alone.
    const isOver = runsAgain || operation === 'batch' || isOfDatabase(error) || !(error instanceof MillraceError);
    if (isOver) this.#over = { error, runsAgain };
  }

  #told(error: unknown): MillraceError {
    if (error instanceof MillraceError) {
      if (error.code === 'internal') this.#options.onError(error);
      return error;
    }
    if (isConflict(error)) {
      return new MillraceError('contention', 'Another writer was faster; the run begins anew', { cause: error });
    }
    this.#options.onError(error);
    return unexpected(error);
  }
}

function unexpected(cause: unknown): MillraceError {
  return new MillraceError('internal', 'The operation failed unexpectedly', { cause });
}
