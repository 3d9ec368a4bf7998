/** Bytes held for clients: a bound for each and one for all, and nothing is left when all is given back. */
import t from 'tap';
import { MillraceError } from '../../src/kernel/errors.ts';
import { Account, ByteBudget, byteBounds } from '../../src/kernel/memory/byte-budget.ts';
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

t.test('a key is refused beyond its bound, and others are not', async (t) => {
  const budget = new ByteBudget({ each: 100, all: 1_000 });
  const [a, b] = [new Account(budget, 'a'), new Account(budget, 'b')];
  a.take(100);
  t.equal(
    codeOf(() => a.take(1)),
    'too-much-held',
  );
  t.equal(budget.of('a'), 100, 'what is refused is not counted');
  t.equal(
    codeOf(() => b.take(100)),
    null,
  );
  a.note(-40);
  t.ok(budget.hasRoom('a', 40));
  t.notOk(budget.hasRoom('a', 41));
});

t.test('all together are refused beyond the bound of the process', async (t) => {
  const budget = new ByteBudget({ each: 100, all: 150 });
  const [a, b] = [new Account(budget, 'a'), new Account(budget, 'b')];
  a.take(100);
  t.equal(
    codeOf(() => b.take(51)),
    'overloaded',
  );
  b.take(50);
  t.equal(budget.total, 150);
});

t.test('what is there already is counted beyond the bounds, and nothing more is taken then', async (t) => {
  const budget = new ByteBudget({ each: 100, all: 1_000 });
  const account = new Account(budget, 'a');
  account.note(300);
  t.notOk(account.hasRoom(0));
  t.equal(
    codeOf(() => account.take(1)),
    'too-much-held',
  );
  account.note(-200);
  t.ok(account.hasRoom(0));
});

t.test('an account that moves takes all of it along', async (t) => {
  const budget = new ByteBudget({ each: 100, all: 1_000 });
  const account = new Account(budget, '127.0.0.1');
  account.take(80);
  account.move('user:u1');
  t.equal(budget.of('127.0.0.1'), 0);
  t.equal(budget.of('user:u1'), 80);
  account.note(-80);
  t.equal(budget.total, 0);
});

t.test('whatever is taken, noted, moved and given: the sums are those of the accounts', async (t) => {
  const seed = 42;
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  const budget = new ByteBudget({ each: 500, all: 1_500 });
  const keys = ['a', 'b', 'c', 'd'];
  const accounts = keys.map((key) => new Account(budget, key));
  for (let step = 0; step < 10_000; step++) {
    const account = random.pick(accounts);
    const bytes = random.below(200);
    const kind = random.below(4);
    if (kind === 0) codeOf(() => account.take(bytes));
    else if (kind === 1) account.note(bytes);
    else if (kind === 2) account.note(-Math.min(account.held, bytes * 2));
    else account.move(random.pick([null, ...keys]));
    for (const key of keys) {
      const sum = accounts.filter((one) => one.key === key).reduce((total, { held }) => total + held, 0);
      if (budget.of(key) !== sum) t.equal(budget.of(key), sum, `${key} after step ${step}`);
    }
  }
  for (const account of accounts) account.note(-account.held);
  t.equal(budget.total, 0);
  for (const key of keys) t.equal(budget.of(key), 0);
});

t.test('the bounds are those of the settings, or parts of the memory that the process may use', async (t) => {
  t.strictSame(byteBounds({ bytes: 1_000, bytesPerClient: 10 }), { all: 1_000, each: 10 });
  t.strictSame(byteBounds({ bytes: 1_000, bytesPerClient: null }), { all: 1_000, each: 250 });
  const { all, each } = byteBounds({ bytes: null, bytesPerClient: null });
  t.ok(all > 16 * 1024 * 1024 && each <= 64 * 1024 * 1024 && each <= all / 4);
});
