/**
 * Mutations of the log, each a small change of the correct one. They prove that the checker detects errors: a torture
 * run with one of them must end red. Never used outside of `test/torture`.
 */
import type { Document } from 'mongodb';
import type { Lease } from '../../../src/database/lease.ts';
import { EventLog, LogNumberConflict } from '../../../src/events/log/event-log.ts';
import { decodeLogRow, encodeLogRow, type LogRow } from '../../../src/events/log/log-row.ts';

export const MUTATIONS = ['none', 'pipelined', 'local-tail', 'w1'] as const;
export type Mutation = (typeof MUTATIONS)[number];

/** The correct log in small batches, with hooks for a test. */
export class HookedLog extends EventLog {
  beforeInsert: (rows: readonly LogRow[]) => Promise<void> = async () => {};
  beforeNewest: () => Promise<void> = async () => {};
  afterNewest: () => Promise<void> = async () => {};

  override async append(rows: readonly LogRow[], allowed: () => boolean, written: (rows: readonly LogRow[]) => void) {
    for (const piece of inPieces(rows, 20)) {
      if (!allowed()) throw new LogNumberConflict('The lease is lost');
      await this.beforeInsert(piece);
      await this.store(piece);
      written(piece);
    }
  }

  override async newest(): Promise<LogRow | null> {
    await this.beforeNewest();
    const row = await this.readNewest();
    await this.afterNewest();
    return row;
  }

  protected async store(piece: readonly LogRow[]): Promise<void> {
    await insertRows(this, piece, 'majority');
  }

  protected async readNewest(): Promise<LogRow | null> {
    return await super.newest();
  }
}

/** Several concurrent batches. */
class PipelinedLog extends HookedLog {
  override async append(rows: readonly LogRow[], allowed: () => boolean, written: (rows: readonly LogRow[]) => void) {
    if (!allowed()) throw new LogNumberConflict('The lease is lost');
    const sent = inPieces(rows, 20).map(async (piece) => {
      await this.store(piece);
      written(piece);
    });
    const outcomes = await Promise.allSettled(sent);
    const failed = outcomes.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
  }
}

/** The newest row is read from the primary, whether a majority has it or not. */
class LocalTailLog extends HookedLog {
  protected override async readNewest(): Promise<LogRow | null> {
    const [raw] = await this.db
      .collection('log')
      .find({}, { sort: { _id: -1 }, limit: 1, readConcern: { level: 'local' }, raw: true })
      .toArray();
    return raw === undefined ? null : decodeLogRow(raw as unknown as Uint8Array);
  }
}

/** A batch counts as written as soon as the primary has it. */
class HastyLog extends HookedLog {
  protected override async store(piece: readonly LogRow[]): Promise<void> {
    await insertRows(this, piece, 1);
  }
}

/** The log with one mutation; without one it is the correct log in batches. */
export function hookedLog(mutation: Mutation, ...words: ConstructorParameters<typeof EventLog>): HookedLog {
  if (mutation === 'pipelined') return new PipelinedLog(...words);
  if (mutation === 'local-tail') return new LocalTailLog(...words);
  return mutation === 'w1' ? new HastyLog(...words) : new HookedLog(...words);
}

export function makeLog(mutation: Mutation, ...words: ConstructorParameters<typeof EventLog>): EventLog {
  return mutation === 'none' ? new EventLog(...words) : hookedLog(mutation, ...words);
}

/** A lease that every process holds: correctness must not depend on it. */
export function withoutLease(lease: Lease): Lease {
  lease.acquire = async () => true;
  lease.held = () => true;
  lease.release = async () => {};
  return lease;
}

/** Writes rows as a recorder does, with the write concern given. */
export async function insertRows(log: EventLog, rows: readonly LogRow[], w: 'majority' | 1): Promise<void> {
  const documents: Document[] = rows.map(encodeLogRow);
  const reply = await log.db.command({ insert: 'log', documents, ordered: true, writeConcern: { w } });
  const issue = reply['writeErrors']?.[0];
  if (issue?.code === 11000) throw new LogNumberConflict('A row with this number exists');
  if (issue) throw new Error(String(issue.errmsg));
}

function inPieces<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  );
}
