/**
 * The rows of the log that a test has caused: all rows after a number, and a row that comes after all earlier writes.
 */
import type { FastifyInstance } from 'fastify';
import type { LogRow } from '../../../src/events/log/log-row.ts';
import type { LogTail } from '../../../src/events/log/log-tail.ts';

/** The first matching row from now on, once this process has received it. Must be called before its cause. */
export function nextRow(tail: LogTail, fits: (row: LogRow) => boolean): Promise<LogRow> {
  return new Promise((resolve) => {
    const detach = tail.attach({
      rows: (rows) => {
        const found = rows.find(fits);
        if (found === undefined) return;
        detach();
        resolve(found);
      },
    });
  });
}

/** Writes again, over HTTP. Returns the number of its row, which comes after the rows of all earlier writes. */
export async function markLog(app: FastifyInstance, tail: LogTail): Promise<number> {
  const reported = nextRow(tail, (row) => row.collection === 'marks' && row.operation === 'insert');
  await app.inject({ method: 'POST', url: '/api/marks', payload: {} });
  return (await reported).number;
}

/** All rows after a number. */
export async function rowsBehind(tail: LogTail, from: number): Promise<LogRow[]> {
  const rows: LogRow[] = [];
  for (let at = from; ; ) {
    const more = await tail.read(at, 1_000);
    const last = more.at(-1);
    if (last === undefined) return rows;
    rows.push(...more);
    at = last.number;
  }
}
