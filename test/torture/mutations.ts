/**
 * Wrong ways to keep the log, each a small change to the right one. They exist to show that the checker would notice:
 * a torture run with one of them must end red. Never used outside of `test/torture`.
 */
import type { Document } from 'mongodb';
import type { Lease } from '../../src/database/lease.ts';
import { batches, EventLog, NumbersTaken } from '../../src/events/event-log.ts';
import { decodeRow, encodeRow, type LogRow } from '../../src/events/row.ts';

export const MUTATIONS = ['none', 'pipelined', 'local-tail', 'w1'] as const;
export type Mutation = (typeof MUTATIONS)[number];

/** Several batches on their way at once. */
class PipelinedLog extends EventLog {
  override async append(rows: readonly LogRow[], allowed: () => boolean, written: (rows: readonly LogRow[]) => void) {
    if (!allowed()) throw new NumbersTaken('The lease is lost');
    const small = [...batches(rows)].flatMap((batch) => inPieces(batch, 20));
    const sent = small.map(async (batch) => {
      await insert(this, batch, 'majority');
      written(batch);
    });
    const outcomes = await Promise.allSettled(sent);
    const failed = outcomes.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
  }
}

/** The newest row is read as the primary has it, whether a majority has it or not. */
class LocalTailLog extends EventLog {
  override async newest(): Promise<LogRow | null> {
    const [raw] = await this.db
      .collection('log')
      .find({}, { sort: { _id: -1 }, limit: 1, readConcern: { level: 'local' }, raw: true })
      .toArray();
    return raw === undefined ? null : decodeRow(raw as unknown as Uint8Array);
  }
}

/** A batch counts as written as soon as the primary has it. */
class HastyLog extends EventLog {
  override async append(rows: readonly LogRow[], allowed: () => boolean, written: (rows: readonly LogRow[]) => void) {
    for (const batch of [...batches(rows)].flatMap((one) => inPieces(one, 20))) {
      if (!allowed()) throw new NumbersTaken('The lease is lost');
      await insert(this, batch, 1);
      written(batch);
    }
  }
}

export function makeLog(mutation: Mutation, ...words: ConstructorParameters<typeof EventLog>): EventLog {
  if (mutation === 'pipelined') return new PipelinedLog(...words);
  if (mutation === 'local-tail') return new LocalTailLog(...words);
  return mutation === 'w1' ? new HastyLog(...words) : new EventLog(...words);
}

/** A lease that everybody holds: what is right must not rest on it. */
export function withoutLease(lease: Lease): Lease {
  lease.acquire = async () => true;
  lease.held = () => true;
  lease.release = async () => {};
  return lease;
}

async function insert(log: EventLog, rows: readonly LogRow[], w: 'majority' | 1): Promise<void> {
  const documents: Document[] = rows.map(encodeRow);
  const reply = await log.db.command({ insert: 'log', documents, ordered: true, writeConcern: { w } });
  const fault = reply['writeErrors']?.[0];
  if (fault?.code === 11000) throw new NumbersTaken('A row with this number exists');
  if (fault) throw new Error(String(fault.errmsg));
}

function inPieces<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  );
}
