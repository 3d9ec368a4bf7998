/**
 * Makes guessing slow and shuts no account by it: from the fifth failure of a network or an account each further try
 * waits. A network waits up to a minute, whatever it tries. An account waits a few seconds at most, whoever tries, and
 * only for networks it was never signed in from: else a stranger who goes on guessing would keep its holder out.
 * Names that no account has wait like others.
 */

import { hash } from 'node:crypto';
import { networkOf } from '../../kernel/addresses.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { DelayStore, DelayTerms } from './delay-store.ts';

const NETWORK: DelayTerms = { from: 5, firstMs: 1_000, maxMs: 60_000 };
/** All networks together get so many guesses at most; one that guesses alone is held by its own delay long before. */
const ACCOUNT: DelayTerms = { ...NETWORK, maxMs: 4_000 };

/** Who tries. */
export interface Attempt {
  /** Id of the account; of a name that no account has, the name folded. */
  readonly name: string;
  readonly address: string;
}

/** Whether an account has been signed in from a network. */
export type KnownFrom = (account: string, network: string) => Promise<boolean>;

export class SignInDelays {
  readonly #store: DelayStore;
  readonly #knownFrom: KnownFrom;

  constructor(store: DelayStore, knownFrom: KnownFrom) {
    this.#store = store;
    this.#knownFrom = knownFrom;
  }

  /** @throws MillraceError `rate-limited` with `Retry-After` while there is a delay */
  async pass(attempt: Attempt): Promise<void> {
    const [account = 0, network = 0] = await this.#store.left(idsOf(attempt));
    const passed = account <= network || (await this.#knownFrom(attempt.name, networkOf(attempt.address)));
    const left = passed ? network : account;
    if (left === 0) return;
    throw new MillraceError('rate-limited', 'Too many failed sign-ins; wait a moment', {
      headers: { 'retry-after': String(Math.ceil(left / 1_000)) },
    });
  }

  /** Not told of tries that did not pass: they lengthen no delay. */
  async failed(attempt: Attempt): Promise<void> {
    const [account, network] = idsOf(attempt);
    await this.#store.count(
      new Map([
        [account, ACCOUNT],
        [network, NETWORK],
      ]),
    );
  }

  /** Forgets the failures of the account; those of the network may have been others' accounts. */
  async succeeded(attempt: Attempt): Promise<void> {
    const [account] = idsOf(attempt);
    await this.#store.forget(account);
  }
}

/** Hashed, because people type passwords where their name belongs. */
function idsOf({ name, address }: Attempt): [string, string] {
  return [`name:${hash('sha256', name, 'base64url')}`, `address:${networkOf(address)}`];
}
