/** Writes at a steady rate over HTTP, whatever the server makes of it, and how long each took. */
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from './load.ts';
import type { Program } from './programs.ts';

const CONNECTIONS = 32;

/**
 * Creates documents in `items`; each holds its number, and when it was due in milliseconds since 1970.
 * @param rate documents a second
 * @param onSend told of the id of each and when it was due, in milliseconds of the monotonic clock
 * @returns milliseconds from the planned moment of each to its answer
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
    // The clock starts when the write was due, so that a server that falls behind is not flattered.
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

/** The value below which a share of all lie. */
export function quantile(all: readonly number[], share: number): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length * share)] ?? Number.NaN;
}
