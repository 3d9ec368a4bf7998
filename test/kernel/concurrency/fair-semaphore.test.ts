/** Who waits for whom at the database: nobody for the many slow questions of one client. */
import t from 'tap';
import { FairSemaphore } from '../../../src/kernel/concurrency/fair-semaphore.ts';

/** Tasks that end when they are told to, and who has begun. */
function tasks(slots: FairSemaphore) {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  return {
    begun,
    ask(whose: string) {
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

t.test('a client takes its share of the places, and no more', async (t) => {
  const { begun, ask, end } = tasks(new FairSemaphore(4, 2));
  for (let n = 0; n < 5; n++) ask('many');
  t.strictSame(begun, ['many', 'many'], 'places are left for others');
  ask('one');
  t.strictSame(begun, ['many', 'many', 'one'], 'who does not wait');
  await end();
  t.strictSame(begun.splice(3), ['many'], 'its next one takes the place of the first');
});

t.test('clients take turns', async (t) => {
  const { begun, ask, end } = tasks(new FairSemaphore(2, 2));
  for (const whose of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) ask(whose);
  for (let n = 0; n < 5; n++) await end();
  t.strictSame(begun, ['a', 'a', 'a', 'b', 'c', 'a', 'b']);
});

t.test('a task that fails gives its place back', async (t) => {
  const slots = new FairSemaphore(1, 1);
  const fails = async () => {
    throw new Error('failed');
  };
  await t.rejects(slots.run('a', fails), { message: 'failed' });
  t.equal(await slots.run('b', async () => 1), 1);
});

t.test('a client with slow tasks runs one at a time, until one is quick', async (t) => {
  let now = 0;
  const { begun, ask, end } = tasks(new FairSemaphore(3, 2, 50, () => now));
  for (let n = 0; n < 7; n++) ask('many');
  t.equal(begun.length, 2);
  now = 51;
  await end();
  t.equal(begun.length, 2, 'the second of the first two still runs');
  await end();
  t.equal(begun.length, 3, 'then one');
  ask('one');
  t.strictSame(begun.splice(3), ['one'], 'others begin at once');
  await end();
  t.strictSame(begun.splice(3), ['many', 'many'], 'a quick one: both places again');
});

t.test('a client that had nothing left to run is not slow any more', async (t) => {
  let now = 0;
  const { begun, ask, end } = tasks(new FairSemaphore(3, 2, 50, () => now));
  ask('one');
  now = 51;
  await end();
  for (let n = 0; n < 2; n++) ask('one');
  t.equal(begun.length, 3);
});
