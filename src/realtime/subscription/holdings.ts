/**
 * The memory that one subscription has on its client's account: its question, and its answer until a group takes that
 * over. Not here: the memory of groups, which their answers account for.
 */
import { wholeBytes } from '../../events/log/row.ts';
import type { Account } from '../../kernel/memory/byte-budget.ts';
import type { LiveAnswer } from '../answer/live-answer.ts';
import type { Stretch } from './backlog.ts';

export class Holdings {
  readonly #account: Account;
  #bytes = 0;
  #live: LiveAnswer | null = null;

  constructor(account: Account) {
    this.#account = account;
  }

  /** Takes bytes until `close`. @throws MillraceError `too-much-held`, `overloaded` */
  take(bytes: number): void {
    this.#account.take(bytes);
    this.#bytes += bytes;
  }

  /** Replaces the answer. The old one ends and gives its memory back. */
  follow(live: LiveAnswer | null): void {
    this.#live?.end();
    this.#live = live;
  }

  /** The answer belongs to a group from now on. */
  handOver(): void {
    this.#live = null;
  }

  /** Gives everything back. */
  close(): void {
    this.follow(null);
    this.#account.note(-this.#bytes);
    this.#bytes = 0;
  }
}

/** Bytes of the rows of a stretch. */
export function bytesOf({ segments }: Stretch): number {
  let bytes = 0;
  for (const { rows } of segments) for (const row of rows) bytes += wholeBytes(row);
  return bytes;
}
