/** The harness of the randomized runs of live queries: a server, printed seeds, and the end at the first error. */
import type { Test } from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { stateText } from '../../helpers/live/live-state.ts';
import { Random, runSeed } from '../../helpers/random.ts';

/** The database has no order for documents with arrays under two of the keys. */
export const REFUSED = /sort-impossible/;

/** A server with a fast heartbeat, so that clients often receive positions, and its URL. */
export async function startServer(t: Test) {
  const { app, services } = await buildTestApp(t, { MILLRACE_HEARTBEAT_MS: '500' });
  return { app, parts: services, tail: services.events.tail, url: await app.listen({ host: '127.0.0.1', port: 0 }) };
}

/**
 * Runs until one has an error, which fails the test with the seed that repeats it.
 * @param play one run with a collection of its own; returns its error, or null
 */
export async function playRuns(
  t: Test,
  runs: number,
  play: (random: Random, collection: string) => Promise<string | null>,
): Promise<void> {
  const seed = runSeed();
  t.comment(`MILLRACE_SEED=${seed}`);
  for (let run = 0; run < runs; run++) {
    const issue = await play(new Random(seed + run), `c${run}`).catch((error: unknown) => String(error));
    if (issue === null) continue;
    t.fail(`run ${run}, MILLRACE_SEED=${seed + run}: ${issue}`);
    return;
  }
}

/** The error of a result that ends with other documents than expected, or null. */
export function disagreement(held: Iterable<unknown>, expected: Iterable<unknown>): string | null {
  const texts = [stateText(held), stateText(expected)] as const;
  return texts[0] === texts[1] ? null : `ends with\n${texts[0]}\nand not with\n${texts[1]}`;
}
