/**
 * The rows of the log that a test has caused: all rows after a number, and a row that comes after all earlier writes.
 */
import type { FastifyInstance } from 'fastify';
import type { LogRow } from '../../../src/events/log/row.ts';
import type { Tail } from '../../../src/events/log/tail.ts';

/** Writes once more, over HTTP. Returns the number of its row, which comes after the rows of all earlier writes. */
export async function markLog(app: FastifyInstance, tail: Tail): Promise<number> {
  return await new Promise((resolve, reject) => {
    const detach = tail.attach({
      rows: (rows) => {
        const mark = rows.find((row) => row.collection === 'marks' && row.operation === 'insert');
        if (mark === undefined) return;
        detach();
        resolve(mark.number);
      },
    });
    app.inject({ method: 'POST', url: '/api/marks', payload: {} }).catch(reject);
  });
}

/** All rows after a number. */
export async function rowsBehind(tail: Tail, from: number): Promise<LogRow[]> {
  const rows: LogRow[] = [];
  for (let at = from; ; ) {
    const more = await tail.read(at, 1_000);
    const last = more.at(-1);
    if (last === undefined) return rows;
    rows.push(...more);
    at = last.number;
  }
}
