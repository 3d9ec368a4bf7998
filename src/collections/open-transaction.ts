/**
 * A transaction while it is open, as it is passed to every operation inside it. Not here: how one is opened, repeated
 * and committed (atomic.ts).
 */
import type { ClientSession } from 'mongodb';
import type { CollectionName } from '../database/names.ts';
import type { Hold } from '../quotas/quotas.ts';

export interface OpenTransaction {
  readonly session: ClientSession;
  /** Collections created in this transaction: other sessions do not see them yet. */
  readonly made: Set<CollectionName>;
  /** Collections that must be prepared outside the transaction before it can go on; after that it runs again. */
  readonly unprepared: Set<CollectionName>;
  /** What quotas have reserved for this transaction; released when it does not commit. */
  readonly holds: Hold[];
  /** Documents that filters have touched in it so far. */
  touched: number;
  /** Size of those documents, in bytes. */
  bytes: number;
  /** True if this transaction has the turn for large transactions, which run one at a time. */
  readonly large: boolean;
  /** Set before an operation throws because it needs that turn: the transaction runs again when its turn has come. */
  needsTurn: boolean;
}
