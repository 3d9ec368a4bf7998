/** A deadline ends a late task, forwards an outer abort, and leaves nothing behind. */
import { getEventListeners } from 'node:events';
import t from 'tap';
import { withTimeout } from '../../../src/lib/concurrency/deadline.ts';

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

t.test('a task in time returns its result and leaves no listener behind', async (t) => {
  const outer = new AbortController();
  t.equal(await withTimeout(1_000, async () => 7, outer.signal), 7);
  await t.rejects(
    withTimeout(1_000, () => Promise.reject(new RangeError('no')), outer.signal),
    RangeError,
  );
  t.strictSame(getEventListeners(outer.signal, 'abort'), []);
});

t.test('a late task is aborted with a timeout', async (t) => {
  await t.rejects(withTimeout(1, untilAborted), { name: 'TimeoutError' });
});

t.test('the outer signal ends the task with its reason', async (t) => {
  const outer = new AbortController();
  const task = withTimeout(60_000, untilAborted, outer.signal);
  outer.abort(new RangeError('enough'));
  await t.rejects(task, RangeError);
  await t.rejects(withTimeout(60_000, untilAborted, outer.signal), RangeError, 'also when it had aborted before');
});
