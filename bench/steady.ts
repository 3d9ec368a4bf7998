/** Writes at a steady rate over HTTP, even if the server is slower, and measures how long each write took. */
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from './load.ts';
import type { Program } from './programs.ts';

const CONNECTIONS = 32;

/**
 * Creates documents in `items`. Each contains its number, and its planned time in milliseconds since 1970.
 * @param rate documents per second
 * @param onSend called with the id of each document and its planned time, in milliseconds of the monotonic clock
 * @returns for each write the milliseconds from its planned time to its response
 */
export async function writeSteadily(
  program: Program,
  rate: number,
  count: number,
  onSend: (id: string, at: number) => void,
): Promise<number[]> {
  const { hostname, port } = new URL(program.base);
  const idle = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.to(hostname, Number(port))));
  const acknowledged: number[] = [];
  const underWay: Promise<void>[] = [];
  const begun = performance.now();
  for (let n = 0; n < count; n++) {
    // Measured from the planned time: a server that is too slow delays later writes, and that delay must count.
    const due = begun + (n * 1000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await pause(wait);
    while (idle.length === 0) await pause(1);
    const connection = idle.pop();
    if (connection === undefined) continue;
    const id = `${Math.trunc(begun)}-${n}`;
    onSend(id, due);
    const body = JSON.stringify({ id, n, at: performance.timeOrigin + due, text: 'x'.repeat(300) });
    underWay.push(
      connection.send({ method: 'POST', path: '/api/items', body }).then(() => {
        acknowledged.push(performance.now() - due);
        idle.push(connection);
      }),
    );
  }
  await Promise.all(underWay);
  for (const connection of idle) connection.close();
  return acknowledged;
}

/** The quantile: a `share` of all values is below it. */
export function quantile(all: readonly number[], share: number): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length * share)] ?? Number.NaN;
}
