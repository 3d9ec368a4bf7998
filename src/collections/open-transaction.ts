/**
 * A transaction while it is open, as every operation inside of it is given it. Not here: how one is opened, repeated and
 * committed (atomic.ts).
 */
import type { ClientSession } from 'mongodb';
import type { CollectionName } from '../database/names.ts';
import type { Hold } from '../quotas/quotas.ts';

export interface OpenTransaction {
  readonly session: ClientSession;
  /** Collections created in it: other sessions do not see them yet. */
  readonly made: Set<CollectionName>;
  /** Collections that have to be prepared outside of it before it can go on; then it is run again. */
  readonly unprepared: Set<CollectionName>;
  /** What quotas let through for it; released when it does not commit. */
  readonly holds: Hold[];
  /** Documents that filters have touched in it so far. */
  touched: number;
  /** Size of those documents, in bytes. */
  bytes: number;
  /** Whether it has the one turn that large transactions run in. */
  readonly large: boolean;
  /** Set by work that needs that turn, before it throws: the transaction is run again when its turn has come. */
  needsTurn: boolean;
}
