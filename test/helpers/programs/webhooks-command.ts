/** `millrace webhooks` in a process of its own. */
import type { Test } from 'tap';
import { type RunningCommand, runCommandLine } from './command-line.ts';

/** Starts `millrace webhooks` with these arguments. It is killed when the test ends. */
export function runWebhooks(t: Pick<Test, 'teardown'>, words: readonly string[]): RunningCommand {
  return runCommandLine(t, ['webhooks', ...words]);
}
