/**
 * A deadline for one task. `AbortSignal.timeout` cannot be taken back: on a path that is walked thousands of times a
 * second each of its timers would stay for its whole time, and then fire for nobody.
 */

/**
 * Runs a task whose signal aborts when it has taken too long, with a `TimeoutError`, or when `outer` does, with its
 * reason. The task itself heeds the signal.
 * @param ms how long it may take, in milliseconds
 */
export async function within<T>(
  ms: number,
  task: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  outer?.throwIfAborted();
  const end = new AbortController();
  const follow = (): void => end.abort(outer?.reason);
  outer?.addEventListener('abort', follow);
  const timer = setTimeout(() => end.abort(new DOMException(`No answer within ${ms} ms`, 'TimeoutError')), ms);
  try {
    return await task(end.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', follow);
  }
}
