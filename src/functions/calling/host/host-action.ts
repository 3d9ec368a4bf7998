/** The declaration of a host operation, so that host-api.ts can count, order, reject and record all of them. */
import type { Principal } from '../../../auth/identity/principal.ts';
import type { TransactionContext } from '../../../collections/open-transaction.ts';
import type { HostOperation } from '../../sandbox/sandbox.ts';
import type { OperationArgument } from './operation-argument.ts';

export interface HostAction {
  /** Whether it writes. Write hooks must not use it. */
  readonly writes: boolean;
  /** Its queue: inside a transaction, operations of `documents` run one after the other. */
  readonly queue: 'documents' | 'files' | 'free';
  /** The target, for the operation record. */
  readonly target: (argument: OperationArgument) => string;
  /**
   * Runs it.
   * @param signal aborted when the call ends
   * @returns JSON text
   * @throws MillraceError
   */
  readonly run: (argument: OperationArgument, signal: AbortSignal) => Promise<string>;
}

export type HostActions<O extends HostOperation = HostOperation> = Readonly<Record<O, HostAction>>;

/** The principal and transaction of the operations of one call. */
export interface ActionContext {
  readonly principal: Principal;
  /** The request id that is stored with changes. */
  readonly request: string;
  readonly within: TransactionContext | null;
}
