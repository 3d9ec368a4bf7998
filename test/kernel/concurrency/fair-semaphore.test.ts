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
