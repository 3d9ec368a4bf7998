/** A memory reservation without a limit, for tests that are not about memory. */
import { ByteBudget, MemoryAccount } from '../../src/lib/memory/byte-budget.ts';

export function unbounded(): MemoryAccount {
  return new MemoryAccount(new ByteBudget({ each: Number.POSITIVE_INFINITY, all: Number.POSITIVE_INFINITY }), 'anyone');
}
