/** Ends what tests of one process share after the last of them. */

/**
 * Calls `end` when the last test file of this process has ended.
 * @returns false, and does nothing, where a file runs without scripts/test-process.ts: then it ends with its test
 */
export function endWithProcess(end: () => Promise<void>): boolean {
  const endings: unknown = Reflect.get(process, Symbol.for('end-of-test-process'));
  if (!Array.isArray(endings)) return false;
  endings.push(end);
  return true;
}
