/** An open transaction, passed to every operation inside it. */
import type { ClientSession } from 'mongodb';
import type { CollectionName } from '../database/parse-collection-name.ts';
import type { QuotaReservation } from '../quotas/quotas.ts';

export interface TransactionContext {
  readonly session: ClientSession;
  /** Collections created in this transaction: other sessions do not see them yet. */
  readonly created: Set<CollectionName>;
  /** Collections that must be prepared outside the transaction before it can continue; after that it runs again. */
  readonly unprepared: Set<CollectionName>;
  /** Quota reservations of this transaction; released when it does not commit. */
  readonly holds: QuotaReservation[];
  /** Documents that writes by filter have changed in it so far. */
  changedDocuments: number;
  /** Size of those documents, in bytes. */
  bytes: number;
  /** True if this transaction holds the lock for large transactions, which run one at a time. */
  readonly large: boolean;
  /** Set before an operation throws because it needs that lock: the transaction runs again when it has the lock. */
  needsLargeLock: boolean;
}
