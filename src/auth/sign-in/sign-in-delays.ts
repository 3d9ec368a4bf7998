/**
 * Makes guessing slow without shutting any account: from the fifth failure of a network, or of a name, each further try
 * waits. A network waits up to a minute, whatever it tries. A name waits a few seconds at most, and only for networks from
 * which its account was never signed in: else a stranger who goes on guessing would keep the holder out. Failures count
 * under the name that was typed, whether an account has it or not: counted for the account, the delay of its user name
 * would show under its e-mail address, and tell which address belongs to the name (decisions/0086-delays-by-name.md).
 */

import { hash } from 'node:crypto';
import { networkOf } from '../../kernel/config/addresses.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { DelayStore, DelayTerms } from './delay-store.ts';

const NETWORK: DelayTerms = { from: 5, firstMs: 1_000, maxMs: 60_000 };
/** Bounds the guesses of all networks together; a network that guesses alone is held by its own delay long before. */
const NAME: DelayTerms = { ...NETWORK, maxMs: 4_000 };

/** One try to sign in, or to confirm a password. */
export interface Attempt {
  /** What its failures are counted under: {@link underName} or {@link underAccount}. */
  readonly under: string;
  /** Id of the account; null when no account has the name. */
  readonly account: string | null;
  /** IP address of the client. */
  readonly address: string;
}

/**
 * Counts under a name as it was typed. Hashed, because people type passwords where their name belongs.
 * @param name folded
 */
export function underName(name: string): string {
  return `name:${hash('sha256', name, 'base64url')}`;
}

/** Counts under an account whose holder is signed in already; no stranger's try is counted there. */
export function underAccount(id: string): string {
  return `account:${id}`;
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
    const [name = 0, network = 0] = await this.#store.left(idsOf(attempt));
    // Without an account the question is asked all the same, so that its time tells nothing.
    const known = name > network && (await this.#knownFrom(attempt.account ?? '', networkOf(attempt.address)));
    const left = known ? network : Math.max(name, network);
    if (left === 0) return;
    throw new MillraceError('rate-limited', 'Too many failed sign-ins; wait a moment', {
      headers: { 'retry-after': String(Math.ceil(left / 1_000)) },
    });
  }

  /** Counts a failure. Tries that did not {@link pass} are not counted: they lengthen no delay. */
  async failed(attempt: Attempt): Promise<void> {
    const [name, network] = idsOf(attempt);
    await this.#store.count(
      new Map([
        [name, NAME],
        [network, NETWORK],
      ]),
    );
  }

  /** Forgets the failures under the name; those of the network may have been of other accounts. */
  async succeeded({ under }: Attempt): Promise<void> {
    await this.#store.forget(under);
  }
}

function idsOf({ under, address }: Attempt): [string, string] {
  return [under, `address:${networkOf(address)}`];
}
