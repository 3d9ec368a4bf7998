import type { Test } from 'tap';

/** Receives what stops services that a test creates itself; they are stopped, newest first, when the test ends. */
export function testCleanup(t: Test): AsyncDisposableStack {
  const cleanup = new AsyncDisposableStack();
  t.teardown(() => cleanup.disposeAsync());
  return cleanup;
}
