/** What was opened is closed in reverse order, whatever fails meanwhile. */
import t from 'tap';
import { Closers } from '../../src/kernel/closers.ts';

t.test('closes the newest first, and once', async (t) => {
  const closers = new Closers();
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

t.test('closes the others when one fails, and tells of the first failure', async (t) => {
  const closers = new Closers();
  const closed: string[] = [];
  closers.add('first', (it) => closed.push(it));
  closers.add('second', () => Promise.reject(new Error('second')));
  closers.add('third', () => {
    throw new Error('third');
  });
  await t.rejects(closers.close(), { message: 'third' });
  t.strictSame(closed, ['first']);
});
