/**
 * Secrets that work once: setup links, confirmations by mail, tickets, states and codes of sign-ins by a provider. 256 random
 * bits, of which only a hash is kept.
 */
import { hash, randomBytes } from 'node:crypto';
import { actorText } from '../../database/system-collection.ts';
import type { OneTimeTokenRow, OneTimeTokenStore } from './one-time-token-store.ts';

export type OneTimeTokenPurpose =
  | 'setup'
  | 'verify'
  | 'reset'
  | 'ticket'
  | 'flow'
  | 'code'
  | 'factor'
  | 'passkey'
  | 'passkey-new'
  | 'link-identity'
  | 'link-code'
  | 'saml-logout';

/** Lifetime of each, in milliseconds. */
export const ONE_TIME_TOKEN_MS: Readonly<Record<OneTimeTokenPurpose, number>> = {
  setup: 30 * 60_000,
  verify: 24 * 3_600_000,
  reset: 30 * 60_000,
  ticket: 30_000,
  flow: 10 * 60_000,
  code: 60_000,
  factor: 5 * 60_000,
  passkey: 5 * 60_000,
  'passkey-new': 5 * 60_000,
  'link-identity': 5 * 60_000,
  'link-code': 60_000,
  'saml-logout': 10 * 60_000,
};

const SECRET = /^[A-Za-z0-9_-]{43}$/;

export interface OneTimeTokenData {
  readonly subject: string | null;
  readonly facts: Readonly<Record<string, unknown>>;
}

export class OneTimeTokens {
  readonly #store: OneTimeTokenStore;
  readonly #now: () => number;

  constructor(store: OneTimeTokenStore, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  /**
   * Creates a secret.
   * @param alone true if older ones of this purpose and subject stop working
   * @returns the secret, which is not stored
   */
  async make(
    purpose: OneTimeTokenPurpose,
    subject: string | null,
    { facts = {}, alone = false }: { facts?: Readonly<Record<string, unknown>>; alone?: boolean } = {},
  ): Promise<string> {
    const secret = randomBytes(32).toString('base64url');
    const now = this.#now();
    if (alone) await this.#store.removeAll(purpose, subject);
    await this.#store.insert({
      _id: idOf(secret),
      purpose,
      subject,
      facts: JSON.stringify(facts),
      createdAt: new Date(now),
      expiresAt: new Date(now + ONE_TIME_TOKEN_MS[purpose]),
    });
    return secret;
  }

  /** Uses a secret up; null when it does not exist, or no longer. */
  async take(purpose: OneTimeTokenPurpose, secret: string): Promise<OneTimeTokenData | null> {
    const row = await this.#take(purpose, secret);
    return row && toTaken(row);
  }

  /**
   * Uses one up by an act; if the act throws, the error is passed on, and the secret works again until it expires.
   * @returns what the act returns; null when there is none like this
   */
  async spend<T>(purpose: 'setup', secret: string, act: () => Promise<T>): Promise<T | null> {
    const row = await this.#take(purpose, secret);
    if (row === null) return null;
    try {
      return await act();
    } catch (error) {
      await this.#store.insert(row);
      throw error;
    }
  }

  /** Reads one without using it up; null when there is none like this. */
  async peek(purpose: 'reset' | 'verify' | 'factor', secret: string): Promise<OneTimeTokenData | null> {
    if (!SECRET.test(secret)) return null;
    const row = await this.#store.find(idOf(secret), purpose, new Date(this.#now()));
    return row && toTaken(row);
  }

  /** Whether something happens for the first time within so many milliseconds, in all processes; the call counts. */
  isFirst(what: string, ms: number): Promise<boolean> {
    const now = this.#now();
    return this.#store.reserve(`held:${idOf(what)}`, new Date(now), new Date(now + ms));
  }

  /** Invalidates the older ones. */
  forget(purpose: OneTimeTokenPurpose, subject: string | null): Promise<void> {
    return this.#store.removeAll(purpose, subject);
  }

  /** Invalidates the secrets of a user and of its sessions. */
  forgetAll(user: string): Promise<void> {
    return this.#store.removeOf(Object.keys(ONE_TIME_TOKEN_MS), [user, actorText('user', user)]);
  }

  async #take(purpose: OneTimeTokenPurpose, secret: string): Promise<OneTimeTokenRow | null> {
    return SECRET.test(secret) ? this.#store.take(idOf(secret), purpose, new Date(this.#now())) : null;
  }
}

function toTaken({ subject, facts }: OneTimeTokenRow): OneTimeTokenData {
  return { subject, facts: JSON.parse(facts) };
}

function idOf(secret: string): string {
  return hash('sha256', secret, 'base64url');
}
