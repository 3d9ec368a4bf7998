/**
 * The memory that one subscription reserves from its client's budget: for its query, and for its result until a group
 * takes that over.
 */
import { rowBytesWithDocument } from '../../events/log/log-row.ts';
import type { MemoryAccount } from '../../lib/memory/byte-budget.ts';
import type { LiveResult } from '../result/live-result-interface.ts';
import type { BacklogChunk } from './missed-rows-reader.ts';

export class SubscriptionMemory {
  readonly #account: MemoryAccount;
  #bytes = 0;
  #live: LiveResult | null = null;

  constructor(account: MemoryAccount) {
    this.#account = account;
  }

  /** Reserves bytes until `close`. @throws MillraceError `client-memory-exceeded`, `overloaded` */
  take(bytes: number): void {
    this.#account.take(bytes);
    this.#bytes += bytes;
  }

  /** Replaces the result. The old one ends and releases its memory. */
  setResult(live: LiveResult | null): void {
    this.#live?.end();
    this.#live = live;
  }

  /** The result belongs to a group from now on. */
  releaseResult(): void {
    this.#live = null;
  }

  /** Releases everything. */
  close(): void {
    this.setResult(null);
    this.#account.note(-this.#bytes);
    this.#bytes = 0;
  }
}

/** Bytes of rows that were read together for one client. Documents that are too large for the log are always read for it alone. */
export function backlogChunkBytes({ segments, isShared = false }: BacklogChunk): number {
  let bytes = 0;
  for (const { rows } of segments) for (const row of rows) if (!isShared || row.big) bytes += rowBytesWithDocument(row);
  return bytes;
}
