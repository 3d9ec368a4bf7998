/**
 * The memory that one subscription reserves from its client's budget: for its query, and for its result until a group
 * takes that over.
 */
import { wholeBytes } from '../../events/log/row.ts';
import type { Account } from '../../lib/memory/byte-budget.ts';
import type { LiveResponse } from '../result/live-result.ts';
import type { Stretch } from './backlog.ts';

export class SubscriptionMemory {
  readonly #account: Account;
  #bytes = 0;
  #live: LiveResponse | null = null;

  constructor(account: Account) {
    this.#account = account;
  }

  /** Reserves bytes until `close`. @throws MillraceError `client-memory-exceeded`, `overloaded` */
  take(bytes: number): void {
    this.#account.take(bytes);
    this.#bytes += bytes;
  }

  /** Replaces the result. The old one ends and releases its memory. */
  follow(live: LiveResponse | null): void {
    this.#live?.end();
    this.#live = live;
  }

  /** The result belongs to a group from now on. */
  handOver(): void {
    this.#live = null;
  }

  /** Releases everything. */
  close(): void {
    this.follow(null);
    this.#account.note(-this.#bytes);
    this.#bytes = 0;
  }
}

/** Bytes of rows read together. */
export function bytesOf({ segments }: Stretch): number {
  let bytes = 0;
  for (const { rows } of segments) for (const row of rows) bytes += wholeBytes(row);
  return bytes;
}
