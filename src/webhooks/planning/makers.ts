/**
 * The principals of endpoints, as they are now: the accounts and keys that made them, without sessions. Each is read once
 * and kept until it changes or expires. Not here: what they may read (policies/).
 */
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Principal } from '../../auth/identity/principal.ts';
import type { Maker } from '../endpoint/endpoint.ts';

/** For how long it is remembered that a maker is gone, in milliseconds: it may come back. */
const GONE_MS = 1_000;
/** Principals that are kept; more endpoints cannot be. */
const MOST = 1_000;

interface KeptMaker {
  readonly principal: Principal | null;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export class Makers {
  readonly #authenticator: Pick<Authenticator, 'standing' | 'onRevoked'>;
  readonly #now: () => number;
  readonly #onChanged: () => void;
  readonly #kept = new Map<string, KeptMaker>();
  #changes = 0;
  #forget: () => void = () => {};

  /** @param onChanged called when a principal that was asked for has changed or ended */
  constructor(
    authenticator: Pick<Authenticator, 'standing' | 'onRevoked'>,
    onChanged: () => void,
    now: () => number = Date.now,
  ) {
    this.#authenticator = authenticator;
    this.#onChanged = onChanged;
    this.#now = now;
  }

  start(): void {
    this.#forget = this.#authenticator.onRevoked((still) => {
      this.#changes += 1;
      const changed = [...this.#kept].filter(([, { principal }]) => principal === null || !still(principal));
      for (const [key] of changed) this.#kept.delete(key);
      if (changed.some(([, { principal }]) => principal !== null)) this.#onChanged();
    });
  }

  stop(): void {
    this.#forget();
    this.#kept.clear();
  }

  /** The account or key as it is now; null when it is gone. The same object until it changes. */
  find(maker: Maker): Principal | null | Promise<Principal | null> {
    const kept = this.#kept.get(keyOf(maker));
    return kept !== undefined && kept.until > this.#now() ? kept.principal : this.#read(maker);
  }

  async #read(maker: Maker): Promise<Principal | null> {
    const changes = this.#changes;
    const principal = await this.#authenticator.standing(maker);
    // What changed while it was read is read again by the next caller.
    if (changes === this.#changes) this.#keep(keyOf(maker), principal);
    return principal;
  }

  #keep(key: string, principal: Principal | null): void {
    const expires = principal?.kind === 'key' ? principal.expiresAt : null;
    const until = principal === null ? this.#now() + GONE_MS : (expires ?? Number.POSITIVE_INFINITY);
    if (this.#kept.size >= MOST) this.#kept.clear();
    this.#kept.set(key, { principal, until });
  }
}

function keyOf({ kind, id }: Maker): string {
  return `${kind === 'key' ? 'key' : 'user'}:${id}`;
}
