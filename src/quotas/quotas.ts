/**
 * Quotas: how many documents, files and bytes of files one principal may have created. Every create checks them first.
 * The sum is the count in the database (quota-store.ts) plus the holds: writes that this process has allowed and that
 * are not counted yet.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { MillraceError } from '../lib/errors.ts';
import { collectionCountsTowardQuota, type QuotaLogRow } from './quota-counter.ts';
import type { CountedPosition, QuotaAmounts, QuotaStore } from './quota-store.ts';

/** How long a create waits at most, in milliseconds, when uncounted writes decide whether it fits. */
const WAIT_MS = 3_000;
const AGAIN_MS = 25;
/** Lifetime of a hold, in milliseconds: longer than any transaction takes, and usually longer than counting. */
const HOLD_MS = 120_000;

const FIELDS = ['documents', 'files', 'bytes'] as const;
const NAMES = { documents: 'documents', files: 'files', bytes: 'bytes of files' };

/** The amounts of one allowed write. A hold ends by itself when the write is counted. */
export interface QuotaReservation {
  /** Call it when the write did not happen. */
  release(): void;
}

interface Held extends QuotaReservation, QuotaAmounts {
  readonly creator: string;
  readonly until: number;
  /** How many of its inserts are not in the log yet. */
  rows: number;
  /** The row of its last insert; null before that row came. */
  position: CountedPosition | null;
}

export class Quotas {
  readonly #store: QuotaStore;
  readonly #limits: QuotaAmounts;
  readonly #held = new Map<string, Held[]>();
  /**
   * The log position up to which holds were ended as counted. Older counts must not be used: they lack these writes.
   */
  #settled: CountedPosition = { epoch: 0, number: 0 };

  /** @param limits what one principal may have created; 0 is no limit */
  constructor(store: QuotaStore, limits: QuotaAmounts) {
    this.#store = store;
    this.#limits = limits;
  }

  /**
   * Allows a write, or rejects it. The caller releases the hold when the write does not happen.
   * @param creator id of the principal; null for one without limits
   * @param request id of the request; the write's rows in the event log carry it
   * @param earlier holds of the same transaction; the new one is added
   * @throws MillraceError `quota-exceeded`
   */
  async reserve(
    creator: string | null,
    request: string,
    amounts: Partial<QuotaAmounts>,
    earlier: QuotaReservation[] = [],
  ): Promise<QuotaReservation | undefined> {
    if (creator === null) return undefined;
    const requested = { documents: 0, files: 0, bytes: 0, ...amounts };
    const end = performance.now() + WAIT_MS;
    for (;;) {
      const counted = await this.#counted(creator);
      // Nothing below is asynchronous, so two writes cannot use the same room.
      const others = this.#of(creator);
      const own = others.filter((one) => earlier.includes(one));
      const over = counted === null ? null : this.#over(requested, [counted, ...own]);
      if (over !== null) throw exceeded(over, this.#limits[over]);
      const unsure = counted === null ? null : this.#over(requested, [counted, ...others]);
      if (unsure === null) return this.#add(creator, request, requested, earlier);
      // It may still fit: if other writes fail, or were counted a moment ago.
      if (performance.now() > end) throw exceeded(unsure, this.#limits[unsure]);
      await pause(AGAIN_MS);
    }
  }

  /**
   * Rejects an upload if there is no room for one more file of any size, before its bytes are received.
   * @throws MillraceError `quota-exceeded`
   */
  async requireRoomForFile(creator: string | null): Promise<void> {
    const counted = creator === null ? null : await this.#counted(creator);
    const over = counted === null ? null : this.#over({ documents: 0, files: 1, bytes: 1 }, [counted]);
    if (over === 'files' || over === 'bytes') throw exceeded(over, this.#limits[over]);
  }

  /** Receives new rows of the event log, or null when some were lost. */
  applyLogRows(rows: readonly QuotaLogRow[] | null): void {
    if (rows === null) this.#held.clear();
    for (const { request, operation, collection, epoch, number } of rows ?? []) {
      const held = request === null || operation !== 'insert' ? undefined : this.#held.get(request);
      const next = collectionCountsTowardQuota(collection) ? held?.find((one) => one.rows > 0) : undefined;
      if (next === undefined) continue;
      next.rows -= 1;
      if (next.rows === 0) next.position = { epoch, number };
    }
  }

  /**
   * What a principal has created by the count in the database; ends the holds that this count includes. Null while
   * unknown.
   */
  async #counted(creator: string): Promise<QuotaAmounts | null> {
    for (;;) {
      const found = await this.#store.read(creator);
      if (found === null) return null;
      const { amounts, position } = found;
      // Another write has read newer counts in the meantime and ended holds by them.
      if (position.epoch === this.#settled.epoch && position.number < this.#settled.number) continue;
      this.#settle(position);
      return amounts;
    }
  }

  #settle(position: CountedPosition): void {
    this.#settled = position;
    const now = performance.now();
    for (const [request, all] of this.#held) {
      const left = all.filter((one) => one.until > now && !isBefore(one.position, position));
      if (left.length === 0) this.#held.delete(request);
      else if (left.length < all.length) this.#held.set(request, left);
    }
  }

  #of(creator: string): Held[] {
    return [...this.#held.values()].flat().filter((one) => one.creator === creator);
  }

  #add(creator: string, request: string, amounts: QuotaAmounts, earlier: QuotaReservation[]): QuotaReservation {
    const held: Held = {
      ...amounts,
      creator,
      until: performance.now() + HOLD_MS,
      rows: amounts.documents + amounts.files,
      position: null,
      release: () => {
        const left = (this.#held.get(request) ?? []).filter((one) => one !== held);
        if (left.length === 0) this.#held.delete(request);
        else this.#held.set(request, left);
      },
    };
    this.#held.set(request, [...(this.#held.get(request) ?? []), held]);
    earlier.push(held);
    return held;
  }

  /** The first limit that is exceeded when `requested` is added to `there`; null when it fits. */
  #over(requested: QuotaAmounts, there: readonly QuotaAmounts[]): keyof QuotaAmounts | null {
    const beyond = (field: keyof QuotaAmounts) => {
      const sum = there.reduce((all, one) => all + one[field], requested[field]);
      return requested[field] > 0 && this.#limits[field] > 0 && sum > this.#limits[field];
    };
    return FIELDS.find(beyond) ?? null;
  }
}

/** Whether the counts at a log position include the write of a row. Counts of another epoch begin with a full count. */
function isBefore(row: CountedPosition | null, position: CountedPosition): boolean {
  return row !== null && (row.epoch !== position.epoch || row.number <= position.number);
}

function exceeded(field: keyof QuotaAmounts, limit: number): MillraceError {
  return new MillraceError('quota-exceeded', `You have reached your quota: ${limit} ${NAMES[field]}`, {
    hint: 'Delete some of what you created; the quota is updated about a second later',
  });
}
