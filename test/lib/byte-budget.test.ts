/** Bytes held for clients: a limit for each and one for all, and nothing is left after all is released. */
import t from 'tap';
import { MillraceError } from '../../src/lib/errors.ts';
import { ByteBudget, byteBudgetLimits, MemoryAccount } from '../../src/lib/memory/byte-budget.ts';
import { Random } from '../helpers/random.ts';

function codeOf(work: () => void): string | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof MillraceError) return error.code;
    throw error;
  }
}

t.test('a key is rejected beyond its limit, and others are not', async (t) => {
  const budget = new ByteBudget({ each: 100, all: 1_000 });
  const [a, b] = [new MemoryAccount(budget, 'a'), new MemoryAccount(budget, 'b')];
  a.take(100);
  t.equal(
    codeOf(() => a.take(1)),
    'client-memory-exceeded',
  );
  t.equal(budget.of('a'), 100, 'rejected bytes are not counted');
  t.equal(
    codeOf(() => b.take(100)),
    null,
  );
  a.note(-40);
  t.ok(budget.hasRoom('a', 40));
  t.notOk(budget.hasRoom('a', 41));
});

t.test('all keys together are rejected beyond the limit of the process', async (t) => {
  const budget = new ByteBudget({ each: 100, all: 150 });
  const [a, b] = [new MemoryAccount(budget, 'a'), new MemoryAccount(budget, 'b')];
  a.take(100);
  t.equal(
    codeOf(() => b.take(51)),
    'overloaded',
  );
  b.take(50);
  t.equal(budget.total, 150);
});

t.test('bytes held already count beyond the limits, and nothing more is accepted then', async (t) => {
  const budget = new ByteBudget({ each: 100, all: 1_000 });
  const user = new MemoryAccount(budget, 'a');
  user.note(300);
  t.notOk(user.hasRoom(0));
  t.equal(
    codeOf(() => user.take(1)),
    'client-memory-exceeded',
  );
  user.note(-200);
  t.ok(user.hasRoom(0));
});

t.test('a client that changes its key takes its bytes along', async (t) => {
  const budget = new ByteBudget({ each: 100, all: 1_000 });
  const user = new MemoryAccount(budget, '127.0.0.1');
  user.take(80);
  user.move('user:u1');
  t.equal(budget.of('127.0.0.1'), 0);
  t.equal(budget.of('user:u1'), 80);
  user.note(-80);
  t.equal(budget.total, 0);
});

t.test('after any sequence of operations the sums are those of the clients', async (t) => {
  const seed = 42;
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  const budget = new ByteBudget({ each: 500, all: 1_500 });
  const keys = ['a', 'b', 'c', 'd'];
  const accounts = keys.map((key) => new MemoryAccount(budget, key));
  for (let step = 0; step < 10_000; step++) {
    const user = random.pick(accounts);
    const bytes = random.below(200);
    const kind = random.below(4);
    if (kind === 0) codeOf(() => user.take(bytes));
    else if (kind === 1) user.note(bytes);
    else if (kind === 2) user.note(-Math.min(user.held, bytes * 2));
    else user.move(random.pick([null, ...keys]));
    for (const key of keys) {
      const sum = accounts.filter((one) => one.key === key).reduce((total, { held }) => total + held, 0);
      if (budget.of(key) !== sum) t.equal(budget.of(key), sum, `${key} after step ${step}`);
    }
  }
  for (const user of accounts) user.note(-user.held);
  t.equal(budget.total, 0);
  for (const key of keys) t.equal(budget.of(key), 0);
});

t.test('the limits come from the settings, or are parts of the memory that the process may use', async (t) => {
  t.strictSame(byteBudgetLimits({ bytes: 1_000, bytesPerClient: 10 }), { all: 1_000, each: 10 });
  t.strictSame(byteBudgetLimits({ bytes: 1_000, bytesPerClient: null }), { all: 1_000, each: 250 });
  const { all, each } = byteBudgetLimits({ bytes: null, bytesPerClient: null });
  t.ok(all > 16 * 1024 * 1024 && each <= 64 * 1024 * 1024 && each <= all / 4);
});
