/**
 * What the randomised runs of live answers share: a server, seeds that are printed, and the end at the first fault. Not
 * here: what a run does, and what it counts as a fault.
 */
import type { Test } from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { stateText } from '../../helpers/live/live-state.ts';
import { Random, runSeed } from '../../helpers/random.ts';

/** The database has no order for documents with arrays under two of the keys. */
export const REFUSED = /sort-impossible/;

/** A server with a quick heartbeat, so that clients are often told where they stand, and its address. */
export async function startServer(t: Test) {
  const { app, parts } = await buildTestApp(t, { MILLRACE_HEARTBEAT_MS: '500' });
  return { app, parts, tail: parts.events.tail, url: await app.listen({ host: '127.0.0.1', port: 0 }) };
}

/**
 * Plays one run after the other until one has a fault, which fails the test with the seed that repeats it.
 * @param play one run with a collection of its own; returns its fault, or null
 */
export async function playRuns(
  t: Test,
  runs: number,
  play: (random: Random, collection: string) => Promise<string | null>,
): Promise<void> {
  const seed = runSeed();
  t.comment(`MILLRACE_SEED=${seed}`);
  for (let run = 0; run < runs; run++) {
    const fault = await play(new Random(seed + run), `c${run}`).catch((error: unknown) => String(error));
    if (fault === null) continue;
    t.fail(`run ${run}, MILLRACE_SEED=${seed + run}: ${fault}`);
    return;
  }
}

/** The fault of an answer that ends with other documents than it should, or null. */
export function disagreement(held: Iterable<unknown>, expected: Iterable<unknown>): string | null {
  const texts = [stateText(held), stateText(expected)] as const;
  return texts[0] === texts[1] ? null : `ends with\n${texts[0]}\nand not with\n${texts[1]}`;
}
