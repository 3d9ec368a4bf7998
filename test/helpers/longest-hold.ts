/**
 * The longest time for which a piece of work blocks the event loop, in CPU time of the main thread: a busy machine,
 * other threads and other processes change nothing.
 */

/** @returns milliseconds of CPU between two turns of the event loop while `work` runs, at most */
export async function longestHold(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = process.threadCpuUsage();
  const look = () => {
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.threadCpuUsage();
  };
  const every = () => {
    look();
    looking = setImmediate(every);
  };
  let looking = setImmediate(every);
  await work();
  clearImmediate(looking);
  look();
  return longest;
}
