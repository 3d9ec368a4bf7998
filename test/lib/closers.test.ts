/** Opened resources are closed in reverse order, even if some fail. */
import t from 'tap';
import { CleanupStack } from '../../src/lib/closers.ts';

t.test('closes the newest first, and once', async (t) => {
  const closers = new CleanupStack();
  const closed: string[] = [];
  t.equal(
    closers.add('first', (it) => closed.push(it)),
    'first',
  );
  closers.add('second', async (it) => closed.push(it));
  await closers.close();
  await closers.close();
  t.strictSame(closed, ['second', 'first']);
});

t.test('closes the others if one fails, and throws the first error', async (t) => {
  const closers = new CleanupStack();
  const closed: string[] = [];
  closers.add('first', (it) => closed.push(it));
  closers.add('second', () => Promise.reject(new Error('second')));
  closers.add('third', () => {
    throw new Error('third');
  });
  await t.rejects(closers.close(), { message: 'third' });
  t.strictSame(closed, ['first']);
});
