/**
 * A clock for promises such as "within a second", for tests that run the program in their own process: it stops while
 * the machine runs other processes. The CPU time of this process counts in full.
 */

const TICK_MS = 5;

/** Milliseconds that a piece of work takes by this clock; on an idle machine those of any clock. */
export async function ownTimeOf(work: () => Promise<unknown>): Promise<number> {
  let own = 0;
  let at = performance.now();
  let cpu = process.cpuUsage();
  const tick = () => {
    const { user, system } = process.cpuUsage(cpu);
    const now = performance.now();
    // A turn that comes late although this process computed nothing is late because of other processes.
    own += Math.min(now - at, Math.max(2 * TICK_MS, (user + system) / 1_000));
    at = now;
    cpu = process.cpuUsage();
  };
  const timer = setInterval(tick, TICK_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
    tick();
  }
  return own;
}
