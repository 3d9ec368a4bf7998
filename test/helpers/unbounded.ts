/** A memory reservation without a limit, for tests that are not about memory. */
import { Account, ByteBudget } from '../../src/lib/memory/byte-budget.ts';

export function unbounded(): Account {
  return new Account(new ByteBudget({ each: Number.POSITIVE_INFINITY, all: Number.POSITIVE_INFINITY }), 'anyone');
}
