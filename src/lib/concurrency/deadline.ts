/**
 * A deadline for one task. `AbortSignal.timeout` cannot be canceled: on a path that runs thousands of times per second,
 * each timer would stay until its end and then fire for nothing.
 */

/**
 * Runs a task with a signal that aborts when the task takes too long (a `TimeoutError`), or when `outer` aborts (its
 * reason). The task itself must react to the signal.
 * @param ms the timeout, in milliseconds
 */
export async function withTimeout<T>(
  ms: number,
  task: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  outer?.throwIfAborted();
  const end = new AbortController();
  const follow = (): void => end.abort(outer?.reason);
  outer?.addEventListener('abort', follow);
  const timer = setTimeout(() => end.abort(new DOMException(`No response within ${ms} ms`, 'TimeoutError')), ms);
  try {
    return await task(end.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', follow);
  }
}
