/**
 * Rows on their way from one thread to another: their bodies side by side in one buffer that changes hands, the rest
 * cloned. A row's body is a view into the reply it came in, and the platform would clone that reply for each batch of it. Not here: the
 * threads (recorder-thread.ts, recorder-worker.ts).
 */
import { timestampOf } from '../database/raw.ts';
import type { LogRow } from './row.ts';

const BODIES = ['key', 'after', 'before', 'update'] as const;

type Body = (typeof BODIES)[number];

/** A row with the length of each body in its place. */
type Head = Omit<LogRow, Body | 'time'> & { readonly time: { readonly t: number; readonly i: number } } & {
  readonly [body in Body]: number | null;
};

export interface RowParcel {
  readonly heads: readonly Head[];
  /** The bodies in the order of their rows. */
  readonly bodies: Uint8Array<ArrayBuffer>;
}

/** Packs rows; `bodies.buffer` holds nothing else and may be transferred. */
function packRows(rows: readonly LogRow[]): RowParcel {
  const length = (row: LogRow, body: Body): number => row[body]?.length ?? 0;
  const bodies = new Uint8Array(
    rows.reduce((sum, row) => BODIES.reduce((all, body) => all + length(row, body), sum), 0),
  );
  let at = 0;
  const put = (body: Buffer | null): number | null => {
    if (body === null) return null;
    bodies.set(body, at);
    at += body.length;
    return body.length;
  };
  const heads = rows.map(
    (row): Head => ({
      ...row,
      time: { t: row.time.t, i: row.time.i },
      key: put(row.key),
      after: put(row.after),
      before: put(row.before),
      update: put(row.update),
    }),
  );
  return { heads, bodies };
}

/** The rows of a parcel; their bodies are views into it. */
export function unpackRows({ heads, bodies }: RowParcel): LogRow[] {
  let at = 0;
  const take = (length: number | null): Buffer | null => {
    if (length === null) return null;
    at += length;
    return Buffer.from(bodies.buffer, bodies.byteOffset + at - length, length);
  };
  return heads.map((head) => ({
    ...head,
    time: timestampOf(head.time),
    key: take(head.key),
    after: take(head.after),
    before: take(head.before),
    update: take(head.update),
  }));
}

export interface HandOverOptions {
  readonly send: (parcel: RowParcel) => void;
  /** Told when the other side, which was left without some rows, has room again: it is to look for them in the log. */
  readonly again: () => unknown;
  /** Bodies on their way at most, in bytes; by default 32 MiB. */
  readonly limit?: number;
}

/** Hands rows to a thread that may be slower, and leaves out what it could not take in for now. */
export class HandOver {
  readonly #options: HandOverOptions;
  readonly #limit: number;
  #underWay = 0;
  #left = false;

  constructor(options: HandOverOptions) {
    this.#options = options;
    this.#limit = options.limit ?? 32 * 1024 * 1024;
  }

  hand(rows: readonly LogRow[]): void {
    this.#left ||= this.#underWay > this.#limit;
    if (this.#left) return;
    const parcel = packRows(rows);
    this.#underWay += parcel.bodies.length;
    this.#options.send(parcel);
  }

  /** So many more bytes of bodies have been taken in. */
  taken(bytes: number): void {
    this.#underWay -= bytes;
    if (!this.#left || this.#underWay > this.#limit / 2) return;
    this.#left = false;
    this.#options.again();
  }
}
