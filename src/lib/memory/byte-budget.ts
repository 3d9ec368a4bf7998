/**
 * Counts the bytes of memory that are held for clients: a sum for each key (a principal, or the network of anonymous
 * clients) and a sum for the process, each with a limit. Callers report their use; nothing is measured or freed here.
 */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { MillraceError } from '../errors.ts';

export interface ByteBudgetLimits {
  /** Maximum bytes held for one key. */
  readonly each: number;
  /** Maximum bytes held for all keys together. */
  readonly all: number;
}

const MOST_EACH = 64 * 1024 * 1024;

/**
 * The limits from the settings. By default a part of the memory that the process may use: the smallest of V8's heap
 * limit, the limit of the container and the memory of the machine.
 */
export function byteBudgetLimits({
  bytes,
  bytesPerClient,
}: {
  bytes: number | null;
  bytesPerClient: number | null;
}): ByteBudgetLimits {
  const limits = [getHeapStatistics().heap_size_limit, process.constrainedMemory(), totalmem()];
  const all = bytes ?? Math.min(...limits.filter((limit) => limit > 0)) / 4;
  return { all, each: bytesPerClient ?? Math.min(MOST_EACH, all / 4) };
}

export class ByteBudget {
  readonly bounds: ByteBudgetLimits;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(bounds: ByteBudgetLimits) {
    this.bounds = bounds;
  }

  /** Bytes held for all keys. */
  get total(): number {
    return this.#total;
  }

  /** Bytes held for a key. */
  of(key: string): number {
    return this.#held.get(key) ?? 0;
  }

  /** Whether this many more bytes may be held for a key. */
  hasRoom(key: string, bytes: number): boolean {
    return this.#total + bytes <= this.bounds.all && this.of(key) + bytes <= this.bounds.each;
  }

  /**
   * Checks that this many more bytes may be held for a key.
   * @throws MillraceError `client-memory-exceeded` beyond the limit of the key, `overloaded` beyond that of the process
   */
  require(key: string, bytes: number): void {
    if (this.of(key) + bytes > this.bounds.each) {
      throw new MillraceError('client-memory-exceeded', 'The server holds too much memory for this client', {
        hint: 'Request less at a time: fewer long responses, subscriptions and connections, shorter windows and sort values',
        headers: { 'retry-after': '5' },
      });
    }
    if (this.#total + bytes > this.bounds.all) {
      throw new MillraceError('overloaded', 'The server holds too much memory for all clients', {
        headers: { 'retry-after': '5' },
      });
    }
  }

  /** Counts bytes that are held already, even beyond the limits. A negative number subtracts bytes. */
  note(key: string, bytes: number): void {
    const held = this.of(key) + bytes;
    this.#total += bytes;
    if (held > 0) this.#held.set(key, held);
    else this.#held.delete(key);
  }
}

/**
 * The bytes that one client, or one connection of it, holds. They count under the client's current key, which changes
 * when it signs in.
 */
export class MemoryAccount {
  readonly #budget: ByteBudget;
  readonly #network: string;
  #key: string;
  #held = 0;

  /** @param network the key while its client is anonymous */
  constructor(budget: ByteBudget, network: string) {
    this.#budget = budget;
    this.#network = network;
    this.#key = network;
  }

  /** Bytes held now. */
  get held(): number {
    return this.#held;
  }

  get key(): string {
    return this.#key;
  }

  /** Whether this many more bytes may be held; with 0, whether the limits are kept now. */
  hasRoom(bytes: number): boolean {
    return this.#budget.hasRoom(this.#key, bytes);
  }

  /**
   * Checks that this many more bytes may be held; with 0, that the limits are kept now.
   * @throws MillraceError `client-memory-exceeded`, `overloaded`
   */
  require(bytes: number): void {
    this.#budget.require(this.#key, bytes);
  }

  /** Counts bytes that are about to be held. @throws MillraceError `client-memory-exceeded`, `overloaded` */
  take(bytes: number): void {
    this.require(bytes);
    this.note(bytes);
  }

  /** Counts bytes that are held already, even beyond the limits. A negative number subtracts bytes. */
  note(bytes: number): void {
    this.#budget.note(this.#key, bytes);
    this.#held += bytes;
  }

  /** Counts everything under another key from now on, even beyond its limit. @param principal null for anonymous */
  move(principal: string | null): void {
    const key = principal ?? this.#network;
    this.#budget.note(this.#key, -this.#held);
    this.#budget.note(key, this.#held);
    this.#key = key;
  }
}
