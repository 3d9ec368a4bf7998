/**
 * Slows down password guessing without locking an account: from the fifth failure of a network, or of a name, each
 * further attempt waits. A network waits up to a minute, whatever it tries. A name waits a few seconds at most, and
 * only for networks from which its account was never signed in: otherwise a stranger who keeps guessing would lock the
 * user out. Failures count under the name that was typed, whether an account has it or not. If they counted for the
 * account, a delay of its user name would also show under its e-mail address, and reveal that the two belong together
 * (docs/decisions/0063).
 */
import { hash } from 'node:crypto';
import { networkOf } from '../../kernel/config/addresses.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { DelayStore, DelayTerms } from './delay-store.ts';

const NETWORK: DelayTerms = { from: 5, firstMs: 1_000, maxMs: 60_000 };
/** Bounds the guesses of all networks together; a single network is slowed much earlier by its own delay. */
const NAME: DelayTerms = { ...NETWORK, maxMs: 4_000 };
/** Longer than for names: a code has six digits, and only a client that has the password gets to try one. */
const FACTOR: DelayTerms = NETWORK;
const FACTOR_PREFIX = 'factor:';

/** One attempt to sign in, or to confirm a password. */
export interface SignInAttempt {
  /** What its failures are counted under: {@link underName}, {@link underAccount}, {@link underFactor} or {@link underPasskey}. */
  readonly under: string;
  /** Id of the account; null when no account has the name. */
  readonly account: string | null;
  /** IP address of the client. */
  readonly address: string;
}

/**
 * The key for a name as it was typed. Hashed, because people sometimes type a password in the place of the name.
 * @param name folded
 */
export function underName(name: string): string {
  return `name:${hash('sha256', name, 'base64url')}`;
}

/** The key for an account that is signed in already; attempts of strangers never count under it. */
export function underAccount(id: string): string {
  return `account:${id}`;
}

/** The key for codes of the second factor of an account. */
export function underFactor(id: string): string {
  return `${FACTOR_PREFIX}${id}`;
}

/** The key for a passkey. Hashed, because a client may send any text as its id. */
export function underPasskey(id: string): string {
  return `passkey:${hash('sha256', id, 'base64url')}`;
}

/** The key for attempts that name no account: they count for their network alone. */
export function underNetwork(network: string): string {
  return `network:${network}`;
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
  async pass(attempt: SignInAttempt): Promise<void> {
    const [name = 0, network = 0] = await this.#store.left(idsOf(attempt));
    // Asked even without an account, so that the time of the answer reveals nothing.
    const known = name > network && (await this.#knownFrom(attempt.account ?? '', networkOf(attempt.address)));
    const left = known ? network : Math.max(name, network);
    if (left === 0) return;
    throw new MillraceError('rate-limited', 'Too many failed sign-ins; wait a moment', {
      headers: { 'retry-after': String(Math.ceil(left / 1_000)) },
    });
  }

  /** Counts a failure. Attempts that did not {@link pass} are not counted: they make no delay longer. */
  async failed(attempt: SignInAttempt): Promise<void> {
    const [name, network] = idsOf(attempt);
    await this.#store.count(
      new Map([
        [name, name.startsWith(FACTOR_PREFIX) ? FACTOR : NAME],
        [network, NETWORK],
      ]),
    );
  }

  /** Forgets the failures under the name. Those of the network stay: they may belong to other accounts. */
  async succeeded({ under }: SignInAttempt): Promise<void> {
    await this.#store.forget(under);
  }
}

function idsOf({ under, address }: SignInAttempt): [string, string] {
  return [under, `address:${networkOf(address)}`];
}
