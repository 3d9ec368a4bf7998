/** What every host operation tells of itself, so that one place (call-host.ts) can count, order, refuse and note them all. */
import type { Principal } from '../../../auth/identity/principal.ts';
import type { OpenTransaction } from '../../../collections/open-transaction.ts';
import type { HostOperation } from '../../sandbox/sandbox.ts';
import type { Argument } from './argument.ts';

export interface HostAction {
  /** Whether it changes anything here: a `before` may not do it. */
  readonly writes: boolean;
  /** Where it takes its turn: `documents` are done one after the other inside a transaction. */
  readonly lane: 'documents' | 'files' | 'free';
  /** What it is about, for the note of it. */
  readonly target: (argument: Argument) => string;
  /**
   * Does it.
   * @param signal aborted when the call ends
   * @returns JSON text
   * @throws MillraceError
   */
  readonly run: (argument: Argument, signal: AbortSignal) => Promise<string>;
}

export type HostActions<O extends HostOperation = HostOperation> = Readonly<Record<O, HostAction>>;

/** In whose name, and as a part of what, the operations of one call are done. */
export interface Acting {
  readonly principal: Principal;
  /** The request id that changes are stored with. */
  readonly request: string;
  readonly within: OpenTransaction | null;
}
