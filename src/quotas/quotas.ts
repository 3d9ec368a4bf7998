/**
 * Quotas: how many documents, files and bytes of files one principal may have made. A create asks here first. It counts what
 * the database says (quota-store.ts) and what this process has let through and the counter has not counted yet, the holds.
 * Not here: counting (quota-counter.ts) and who is bound (auth/principal).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { MillraceError } from '../kernel/errors.ts';
import { type CountedRow, isCounted } from './quota-counter.ts';
import type { Amounts, CountedPlace, QuotaStore } from './quota-store.ts';

/** How long a create waits at most, in milliseconds, where it depends on writes that are not counted yet. */
const WAIT_MS = 3_000;
const AGAIN_MS = 25;
/** A hold ends after so many milliseconds at the latest: longer than any transaction, and than counting usually takes. */
const HOLD_MS = 120_000;

const MEMBERS = ['documents', 'files', 'bytes'] as const;
const NAMES = { documents: 'documents', files: 'files', bytes: 'bytes of files' };

/** What was let through for one write. It ends by itself when the write is counted. */
export interface Hold {
  /** The write did not happen. */
  release(): void;
}

interface Held extends Hold, Amounts {
  readonly creator: string;
  readonly until: number;
  /** Inserts that the log has not told of yet. */
  rows: number;
  /** The row that told of the last one; null before. */
  place: CountedPlace | null;
}

export class Quotas {
  readonly #store: QuotaStore;
  readonly #limits: Amounts;
  readonly #held = new Map<string, Held[]>();
  /** Up to where holds were taken as counted: an older reading of the counts would miss them. */
  #settled: CountedPlace = { epoch: 0, number: 0 };

  /** @param limits what one principal may have made; 0 is no limit */
  constructor(store: QuotaStore, limits: Amounts) {
    this.#store = store;
    this.#limits = limits;
  }

  /**
   * Lets a write through, or refuses it. The caller releases the hold when the write does not happen.
   * @param creator id of the principal; null for one that is not bound
   * @param request id of the request, by which the event log tells of the write
   * @param earlier holds of the same transaction; the new one is added
   * @throws MillraceError `quota-exceeded`
   */
  async hold(
    creator: string | null,
    request: string,
    amounts: Partial<Amounts>,
    earlier: Hold[] = [],
  ): Promise<Hold | undefined> {
    if (creator === null) return undefined;
    const wanted = { documents: 0, files: 0, bytes: 0, ...amounts };
    const end = performance.now() + WAIT_MS;
    for (;;) {
      const counted = await this.#counted(creator);
      // No step below waits, so two writes never take the same room.
      const others = this.#of(creator);
      const own = others.filter((one) => earlier.includes(one));
      const over = counted === null ? null : this.#over(wanted, [counted, ...own]);
      if (over !== null) throw exceeded(over, this.#limits[over]);
      const unsure = counted === null ? null : this.#over(wanted, [counted, ...others]);
      if (unsure === null) return this.#add(creator, request, wanted, earlier);
      // It fits if some of the others fail, or were counted a moment ago.
      if (performance.now() > end) throw exceeded(unsure, this.#limits[unsure]);
      await pause(AGAIN_MS);
    }
  }

  /**
   * Refuses where there is no room for one more file of any size, before its bytes are taken in.
   * @throws MillraceError `quota-exceeded`
   */
  async requireRoomForFile(creator: string | null): Promise<void> {
    const counted = creator === null ? null : await this.#counted(creator);
    const over = counted === null ? null : this.#over({ documents: 0, files: 1, bytes: 1 }, [counted]);
    if (over === 'files' || over === 'bytes') throw exceeded(over, this.#limits[over]);
  }

  /** Takes rows of the event log as they come, or null when some were lost. */
  follow(rows: readonly CountedRow[] | null): void {
    if (rows === null) this.#held.clear();
    for (const { request, operation, collection, epoch, number } of rows ?? []) {
      const held = request === null || operation !== 'insert' ? undefined : this.#held.get(request);
      const next = isCounted(collection) ? held?.find((one) => one.rows > 0) : undefined;
      if (next === undefined) continue;
      next.rows -= 1;
      if (next.rows === 0) next.place = { epoch, number };
    }
  }

  /** What a principal has made as the database says, with all holds settled that are counted there; null while unknown. */
  async #counted(creator: string): Promise<Amounts | null> {
    for (;;) {
      const found = await this.#store.read(creator);
      if (found === null) return null;
      const { amounts, place } = found;
      // Another write has settled holds by a newer reading meanwhile.
      if (place.epoch === this.#settled.epoch && place.number < this.#settled.number) continue;
      this.#settle(place);
      return amounts;
    }
  }

  #settle(place: CountedPlace): void {
    this.#settled = place;
    const now = performance.now();
    for (const [request, all] of this.#held) {
      const left = all.filter((one) => one.until > now && !isBefore(one.place, place));
      if (left.length === 0) this.#held.delete(request);
      else if (left.length < all.length) this.#held.set(request, left);
    }
  }

  #of(creator: string): Held[] {
    return [...this.#held.values()].flat().filter((one) => one.creator === creator);
  }

  #add(creator: string, request: string, amounts: Amounts, earlier: Hold[]): Hold {
    const held: Held = {
      ...amounts,
      creator,
      until: performance.now() + HOLD_MS,
      rows: amounts.documents + amounts.files,
      place: null,
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

  /** The first limit that is exceeded when `wanted` is added to what is there; null when it fits. */
  #over(wanted: Amounts, there: readonly Amounts[]): keyof Amounts | null {
    const beyond = (member: keyof Amounts) => {
      const sum = there.reduce((all, one) => all + one[member], wanted[member]);
      return wanted[member] > 0 && this.#limits[member] > 0 && sum > this.#limits[member];
    };
    return MEMBERS.find(beyond) ?? null;
  }
}

/** Whether what a row told of is counted at a place. The counts of another epoch begin with a full count. */
function isBefore(row: CountedPlace | null, place: CountedPlace): boolean {
  return row !== null && (row.epoch !== place.epoch || row.number <= place.number);
}

function exceeded(member: keyof Amounts, limit: number): MillraceError {
  return new MillraceError('quota-exceeded', `You have made as much as you may: ${limit} ${NAMES[member]}`, {
    hint: 'Delete some of what you have made; room is free about a second later',
  });
}
