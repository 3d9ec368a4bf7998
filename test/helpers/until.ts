/** Waits for conditions instead of sleeping. */
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Checks repeatedly until a condition is true.
 * @returns how long it took, in milliseconds
 */
export async function until(fact: () => Promise<boolean> | boolean, what: string, limitMs = 30_000): Promise<number> {
  const start = performance.now();
  while (!(await fact())) {
    if (performance.now() - start > limitMs) throw new Error(`Not within ${limitMs} ms: ${what}`);
    await pause(10);
  }
  return performance.now() - start;
}
