/**
 * Slows down password guessing without locking a user: from the fifth failure of a network, or of a name, each further
 * attempt waits. A network waits up to a minute, whatever it tries. A name waits a few seconds at most, and only for
 * networks from which its user never signed in: otherwise an attacker who keeps guessing would lock the user out.
 * Failures count under the typed name, whether a user has it or not. If they counted for the user, a delay of its user
 * name would also show under its e-mail address, and reveal that the two belong together (docs/decisions/0063).
 */
import { hash } from 'node:crypto';
import { clientNetwork } from '../../config/addresses.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { LoginDelayOptions, LoginThrottleStore } from './login-throttle-store.ts';

const NETWORK: LoginDelayOptions = { from: 5, firstMs: 1_000, maxMs: 60_000 };
/** Bounds the guesses of all networks together; a single network is slowed much earlier by its own delay. */
const NAME: LoginDelayOptions = { ...NETWORK, maxMs: 4_000 };
/** Longer than for names: a code has six digits, and only a client that has the password can try one. */
const FACTOR: LoginDelayOptions = NETWORK;
const FACTOR_PREFIX = 'factor:';

/** One attempt to sign in, or to confirm a password. */
export interface SignInAttempt {
  /** What its failures are counted under: {@link nameThrottleKey}, {@link passwordConfirmationThrottleKey}, {@link mfaThrottleKey} or {@link passkeyThrottleKey}. */
  readonly throttleKey: string;
  /** Id of the user; null when no user has the name. */
  readonly user: string | null;
  /** IP address of the client. */
  readonly ip: string;
}

/**
 * The key for a typed name. Hashed, because people sometimes type a password instead of the name.
 * @param name folded
 */
export function nameThrottleKey(name: string): string {
  return `name:${hash('sha256', name, 'base64url')}`;
}

/** The key for a signed-in user; attempts of unauthenticated clients never count under it. */
export function passwordConfirmationThrottleKey(id: string): string {
  return `user:${id}`;
}

/** The key for codes of the second factor of a user. */
export function mfaThrottleKey(id: string): string {
  return `${FACTOR_PREFIX}${id}`;
}

/** The key for a passkey. Hashed, because a client may send any text as its id. */
export function passkeyThrottleKey(id: string): string {
  return `passkey:${hash('sha256', id, 'base64url')}`;
}

/** The key for attempts that name no user: they count for their network alone. */
export function networkThrottleKey(network: string): string {
  return `network:${network}`;
}

/** Whether a user has signed in from a network. */
export type IsKnownNetwork = (user: string, network: string) => Promise<boolean>;

export class LoginThrottle {
  readonly #store: LoginThrottleStore;
  readonly #isKnownNetwork: IsKnownNetwork;

  constructor(store: LoginThrottleStore, knownFrom: IsKnownNetwork) {
    this.#store = store;
    this.#isKnownNetwork = knownFrom;
  }

  /** @throws MillraceError `rate-limited` with `Retry-After` while there is a delay */
  async checkAllowed(attempt: SignInAttempt): Promise<void> {
    const [name = 0, network = 0] = await this.#store.remainingDelays(idsOf(attempt));
    // Queried even without a user, so that the response time reveals nothing.
    const known = name > network && (await this.#isKnownNetwork(attempt.user ?? '', clientNetwork(attempt.ip)));
    const left = known ? network : Math.max(name, network);
    if (left === 0) return;
    throw new MillraceError('rate-limited', 'Too many failed sign-ins; wait a moment', {
      headers: { 'retry-after': String(Math.ceil(left / 1_000)) },
    });
  }

  /** Counts a failure. Attempts that {@link checkAllowed} rejected are not counted: they make no delay longer. */
  async failed(attempt: SignInAttempt): Promise<void> {
    const [name, network] = idsOf(attempt);
    await this.#store.count(
      new Map([
        [name, name.startsWith(FACTOR_PREFIX) ? FACTOR : NAME],
        [network, NETWORK],
      ]),
    );
  }

  /** Drops the failures under the name. Those of the network stay: they may belong to other users. */
  async succeeded({ throttleKey }: SignInAttempt): Promise<void> {
    await this.#store.forget(throttleKey);
  }
}

function idsOf({ throttleKey, ip }: SignInAttempt): [string, string] {
  return [throttleKey, `ip:${clientNetwork(ip)}`];
}
