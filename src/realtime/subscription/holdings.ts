/**
 * What one subscription holds in memory on its client's account: its question, and the answer that it follows by itself until
 * a group takes it over. Not here: what groups hold, which their own answers pay.
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

  /** Takes bytes until the end. @throws MillraceError `too-much-held`, `overloaded` */
  take(bytes: number): void {
    this.#account.take(bytes);
    this.#bytes += bytes;
  }

  /** Another answer takes the place of the one that was followed, which ends. */
  follow(live: LiveAnswer | null): void {
    this.#live?.end();
    this.#live = live;
  }

  /** The answer is a group's from now on. */
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
