/**
 * The current principals of endpoints: the users and keys that created them, without sessions. Each is read once and
 * cached until it changes or expires.
 */
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Principal } from '../../auth/identity/principal.ts';
import type { Creator } from '../endpoint/endpoint.ts';

/** How long a missing principal is cached, in milliseconds: it may come back. */
const GONE_MS = 1_000;
/** Cached principals; there cannot be more endpoints. */
const MOST = 1_000;

interface PrincipalRecord {
  readonly principal: Principal | null;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export class EndpointPrincipals {
  readonly #authenticator: Pick<Authenticator, 'principalFor' | 'onRevoked'>;
  readonly #now: () => number;
  readonly #onChanged: () => void;
  readonly #kept = new Map<string, PrincipalRecord>();
  #changes = 0;
  #forget: () => void = () => {};

  /** @param onChanged called when a cached principal has changed or ended */
  constructor(
    authenticator: Pick<Authenticator, 'principalFor' | 'onRevoked'>,
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

  /** The current user or key; null if it no longer exists. The same object until it changes. */
  find(creator: Creator): Principal | null | Promise<Principal | null> {
    const kept = this.#kept.get(keyOf(creator));
    return kept !== undefined && kept.until > this.#now() ? kept.principal : this.#read(creator);
  }

  async #read(creator: Creator): Promise<Principal | null> {
    const changes = this.#changes;
    const principal = await this.#authenticator.principalFor(creator);
    // If it changed during the read, the next caller reads again.
    if (changes === this.#changes) this.#keep(keyOf(creator), principal);
    return principal;
  }

  #keep(key: string, principal: Principal | null): void {
    const expires = principal?.kind === 'key' ? principal.expiresAt : null;
    const until = principal === null ? this.#now() + GONE_MS : (expires ?? Number.POSITIVE_INFINITY);
    if (this.#kept.size >= MOST) this.#kept.clear();
    this.#kept.set(key, { principal, until });
  }
}

function keyOf({ kind, id }: Creator): string {
  return `${kind === 'key' ? 'key' : 'user'}:${id}`;
}
