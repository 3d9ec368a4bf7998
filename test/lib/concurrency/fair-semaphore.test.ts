/** The many slow queries of one client delay no other client. */
import t from 'tap';
import { FairSemaphore } from '../../../src/lib/concurrency/fair-semaphore.ts';

/** Tasks that end on request, and a list of those that have started. */
function tasks(slots: FairSemaphore) {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  return {
    begun,
    request(whose: string) {
      void slots.run(whose, () => {
        begun.push(whose);
        return new Promise<void>((resolve) => ends.push(resolve));
      });
    },
    /** Ends the one that has run for the longest. */
    async end() {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

t.test('a client gets its share of the slots, and no more', async (t) => {
  const { begun, request, end } = tasks(new FairSemaphore(4, 2));
  for (let n = 0; n < 5; n++) request('many');
  t.strictSame(begun, ['many', 'many'], 'permits are left for others');
  request('one');
  t.strictSame(begun, ['many', 'many', 'one'], 'who does not wait');
  await end();
  t.strictSame(begun.splice(3), ['many'], 'its next one replaces the first');
});

t.test('clients are served in turn', async (t) => {
  const { begun, request, end } = tasks(new FairSemaphore(2, 2));
  for (const whose of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) request(whose);
  for (let n = 0; n < 5; n++) await end();
  t.strictSame(begun, ['a', 'a', 'a', 'b', 'c', 'a', 'b']);
});

t.test('a task that fails releases its permit', async (t) => {
  const slots = new FairSemaphore(1, 1);
  const fails = async () => {
    throw new Error('failed');
  };
  await t.rejects(slots.run('a', fails), { message: 'failed' });
  t.equal(await slots.run('b', async () => 1), 1);
});

t.test('a client with slow tasks runs one at a time, until one is fast', async (t) => {
  let now = 0;
  const { begun, request, end } = tasks(new FairSemaphore(3, 2, 50, () => now));
  for (let n = 0; n < 7; n++) request('many');
  t.equal(begun.length, 2);
  now = 51;
  await end();
  t.equal(begun.length, 2, 'the second of the first two still runs');
  await end();
  t.equal(begun.length, 3, 'then one');
  request('one');
  t.strictSame(begun.splice(3), ['one'], 'others begin at once');
  await end();
  t.strictSame(begun.splice(3), ['many', 'many'], 'a fast one: both permits again');
});

t.test('a client without further tasks is not slow any more', async (t) => {
  let now = 0;
  const { begun, request, end } = tasks(new FairSemaphore(3, 2, 50, () => now));
  request('one');
  now = 51;
  await end();
  for (let n = 0; n < 2; n++) request('one');
  t.equal(begun.length, 3);
});
