/** Detects when the program is to end: at a signal, or when the program that started it has ended. */

/** How often the program checks whether npm still runs. */
const PARENT_POLL_MS = 500;

/**
 * Resolves on SIGINT and SIGTERM, or when the program that started this one ends (the other end of the IPC channel).
 * `npm run` and `npx` have no such channel, and send a SIGTERM to a shell that does not forward it: there the end of
 * the parent process is the signal.
 * @param env environment variables, which show whether npm started it
 * @param others further signals that end the program
 * @returns the reason, for the log
 */
export function waitForStopSignal(
  env: Readonly<Record<string, string | undefined>>,
  others: readonly NodeJS.Signals[] = [],
): Promise<string> {
  return new Promise((resolve) => {
    const parent = process.ppid;
    const underNpm = env['npm_lifecycle_event'] !== undefined && process.channel === undefined;
    const orphaned = () => process.ppid !== parent && resolve('npm ended');
    if (underNpm) setInterval(orphaned, PARENT_POLL_MS).unref();
    for (const signal of ['SIGINT', 'SIGTERM', ...others] as const) {
      process.on(signal, () => resolve(signal));
    }
    process.once('disconnect', () => resolve('The parent process ended'));
  });
}
