/**
 * Makes guessing slow without locking anybody out: from the fifth failure of an account name or an address each further
 * try waits, one second at first, doubling to a minute. Names that no account has wait like others.
 */
import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { MillraceError } from '../kernel/errors.ts';
import type { DelayStore, DelayTerms } from './delay-store.ts';

const TERMS: DelayTerms = { from: 5, firstMs: 1_000, maxMs: 60_000 };

/** Who tries. */
export interface Attempt {
  /** Id of the account; of a name that no account has, the name folded. */
  readonly name: string;
  readonly address: string;
}

export class SignInDelays {
  readonly #store: DelayStore;

  constructor(store: DelayStore) {
    this.#store = store;
  }

  /** @throws MillraceError `rate-limited` with `Retry-After` while there is a delay */
  async pass(attempt: Attempt): Promise<void> {
    const left = await this.#store.left(idsOf(attempt));
    if (left === 0) return;
    throw new MillraceError('rate-limited', 'Too many failed sign-ins; wait a moment', {
      headers: { 'retry-after': String(Math.ceil(left / 1_000)) },
    });
  }

  async failed(attempt: Attempt): Promise<void> {
    await this.#store.count(idsOf(attempt), TERMS);
  }

  /** Forgets the failures of the account; those of the address may have been others' accounts. */
  async succeeded(attempt: Attempt): Promise<void> {
    const [account = ''] = idsOf(attempt);
    await this.#store.forget(account);
  }
}

/** Hashed, because people type passwords where their name belongs. */
function idsOf({ name, address }: Attempt): [string, string] {
  return [`name:${hash('sha256', name, 'base64url')}`, `address:${networkOf(address)}`];
}

/** Who has one IPv6 address has 2^64 of them (RFC 4291 section 2.5.4): their common part counts. */
export function networkOf(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address;
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').toLowerCase().split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => group.replace(/^0+(?=.)/, '')));
  const [first, last] = [groups(head), groups(tail ?? '')];
  const gap = tail === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array.from({ length: Math.max(0, gap) }, () => '0'), ...last].slice(0, 4).join(':');
}
