/**
 * Turns the proof that a request carries into its principal, remembers what it has verified, and tells when a principal
 * made earlier is no longer as it was. Not here: where on a request the proof stands (http/access/authentication.ts), and what
 * the principal may do.
 */

import { hash } from 'node:crypto';
import { MillraceError } from '../kernel/errors.ts';
import type { UserStore } from './accounts/user-store.ts';
import type { KeyPrincipal, Principal } from './identity/principal.ts';
import { invalidCredential } from './identity/refusals.ts';
import { toPrincipal } from './identity/user.ts';
import { SINGLE_USE_MS, type SingleUse, type Taken } from './sign-in/single-use.ts';
import type { AccessTokens } from './tokens/access-tokens.ts';
import { toKeyPrincipal } from './tokens/api-key.ts';
import type { ApiKeys } from './tokens/api-keys.ts';
import { type Revoked, restsOn } from './tokens/revocations.ts';
import type { SessionStore } from './tokens/session-store.ts';

/** Verified credentials remembered; the first ones remembered go first. */
const MAX_KEPT = 20_000;
const BEARER = /^Bearer ([\x21-\x7e]{1,4096})$/i;
/**
 * How long one is believed at most, in milliseconds. Changes come through the event log within a second; this is how long
 * a revoked one could live in another process if nobody recorded events.
 */
const KEPT_MS = 60_000;
/** How often a principal is read anew when it changes while it is read. */
const TRIES = 5;

/** Whether a principal made earlier is still as it was. */
export type Still = (principal: Principal) => boolean;

export interface AuthenticatorParts {
  readonly tokens: AccessTokens;
  readonly sessions: Pick<SessionStore, 'find'>;
  readonly users: Pick<UserStore, 'find'>;
  readonly keys: Pick<ApiKeys, 'find' | 'current' | 'touch'>;
  readonly singleUse: SingleUse;
  readonly now?: () => number;
}

interface Kept {
  readonly principal: Principal;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** What a token says of who holds it. */
interface SessionProof {
  readonly subject: string;
  readonly session: string;
  readonly expiresAt: number;
}

/** A principal that is being read; whatever it rests on may change meanwhile. */
interface Reading {
  stale: boolean;
}

export class Authenticator {
  readonly #parts: AuthenticatorParts;
  readonly #now: () => number;
  readonly #listeners = new Set<(still: Still) => void>();
  readonly #kept = new Map<string, Kept>();
  readonly #reading = new Set<Reading>();

  constructor(parts: AuthenticatorParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
  }

  /**
   * The principal of a credential: at once when it was verified before.
   * @param authorization the whole value of the header, `Bearer …`
   * @throws MillraceError `invalid-credential`, at once or as a rejection
   */
  authenticate(authorization: string): Principal | Promise<Principal> {
    return this.recall(authorization) ?? this.#verify(authorization);
  }

  /** The principal of a credential that was verified before and is believed still; undefined for any other. */
  recall(authorization: string): Principal | undefined {
    const kept = this.#kept.get(authorization);
    if (kept === undefined) return undefined;
    const now = this.#now();
    if (kept.until <= now) {
      this.#kept.delete(authorization);
      return undefined;
    }
    if (kept.principal.kind === 'key') this.#parts.keys.touch(kept.principal.id, now);
    return kept.principal;
  }

  /**
   * A ticket for this principal, for where no header can be sent.
   * @returns the ticket, and how long it lives, in seconds
   */
  async issueTicket(
    principal: Exclude<Principal, { kind: 'anonymous' }>,
  ): Promise<{ ticket: string; expiresIn: number }> {
    const facts = factsOf(principal);
    const ticket = await this.#parts.singleUse.make('ticket', `${principal.kind}:${principal.id}`, { facts });
    return { ticket, expiresIn: SINGLE_USE_MS.ticket / 1_000 };
  }

  /**
   * The principal of a ticket, which is used up by this.
   * @throws MillraceError `invalid-credential`
   */
  async redeemTicket(ticket: string): Promise<Principal> {
    const taken = await this.#parts.singleUse.take('ticket', ticket);
    if (taken === null) throw invalidCredential();
    return this.#byFacts(taken.facts);
  }

  /**
   * A principal as it is by now, for whom no credential can be asked again.
   * @throws MillraceError `invalid-credential` when what it rests on has ended
   */
  renew(principal: Exclude<Principal, { kind: 'anonymous' }>): Promise<Principal> {
    return this.#byFacts(factsOf(principal));
  }

  /**
   * A principal as it is by now, whether or not the time of its token is over: for what was begun in time.
   * @throws MillraceError `invalid-credential` when its session, account or key has ended
   */
  present(principal: Exclude<Principal, { kind: 'anonymous' }>): Promise<Principal> {
    return this.#steadily(async () => {
      if (principal.kind === 'key') return this.#ofKey(principal.id);
      return this.#ofOpenSession({ ...principal, subject: principal.id });
    });
  }

  /**
   * A pass for coming back with a ticket that was used up, as EventSource does: good for ten minutes, with that ticket.
   */
  issuePass(principal: Exclude<Principal, { kind: 'anonymous' }>, ticket: string): Promise<string> {
    const facts = { ...factsOf(principal), with: hash('sha256', ticket, 'base64url') };
    return this.#parts.singleUse.make('stream', `${principal.kind}:${principal.id}`, { facts });
  }

  /**
   * The principal of a pass.
   * @throws MillraceError `invalid-credential`
   */
  async byPass(pass: string, ticket: string): Promise<Principal> {
    const seen = await this.#parts.singleUse.see('stream', pass);
    if (seen === null || seen.facts['with'] !== hash('sha256', ticket, 'base64url')) throw invalidCredential();
    return this.#byFacts(seen.facts);
  }

  #byFacts({ kind, id, session, expiresAt }: Taken['facts']): Promise<Principal> {
    return this.#steadily(async () => {
      if (kind === 'key') return this.#ofKey(String(id));
      return this.#ofSession({ subject: String(id), session: String(session), expiresAt: Number(expiresAt) });
    });
  }

  /**
   * Calls `listener` in every process within a second after sessions, users, roles or keys changed; returns how to
   * stop that.
   */
  onRevoked(listener: (still: Still) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Forgets what is no longer as it was, and tells the listeners. */
  revoke({ ids, everything }: Pick<Revoked, 'ids' | 'everything'>): void {
    const still: Still = (principal) =>
      principal.kind === 'anonymous' || !(everything || restsOn(principal).some((id) => ids.has(id)));
    for (const reading of this.#reading) reading.stale = true;
    for (const [credential, { principal }] of this.#kept) if (!still(principal)) this.#kept.delete(credential);
    for (const listener of this.#listeners) listener(still);
  }

  async #verify(authorization: string): Promise<Principal> {
    const [, credential] = BEARER.exec(authorization) ?? [];
    if (credential === undefined) throw invalidCredential();
    const principal = await this.#steadily(
      () => (credential.startsWith('mr_') ? this.#byKey(credential) : this.#byToken(credential)),
      (found) => this.#keep(authorization, found),
    );
    return principal;
  }

  /** Reads until nothing was revoked while it was read, so that nothing is remembered that has ended. */
  async #steadily(read: () => Promise<Principal>, then?: (principal: Principal) => void): Promise<Principal> {
    const reading: Reading = { stale: false };
    this.#reading.add(reading);
    try {
      for (let tries = 1; ; tries++) {
        reading.stale = false;
        const principal = await read();
        if (!reading.stale) then?.(principal);
        if (!reading.stale || tries === TRIES) return principal;
      }
    } finally {
      this.#reading.delete(reading);
    }
  }

  #keep(authorization: string, principal: Principal): void {
    const expiresAt = principal.kind === 'anonymous' ? null : principal.expiresAt;
    const until = Math.min(this.#now() + KEPT_MS, expiresAt ?? Number.POSITIVE_INFINITY);
    this.#kept.set(authorization, { principal, until });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
  }

  async #byToken(token: string): Promise<Principal> {
    const proof = await this.#parts.tokens.verify(token).catch((error: unknown) => {
      // The database may be away; everything else is wrong with the token.
      throw error instanceof MillraceError ? error : invalidCredential(error);
    });
    return this.#ofSession(proof);
  }

  async #ofSession(proof: SessionProof): Promise<Principal> {
    const principal = await this.#ofOpenSession(proof);
    if (proof.expiresAt <= this.#now()) throw invalidCredential();
    return principal;
  }

  /** The principal of a session, whenever the proof ends. */
  async #ofOpenSession(proof: SessionProof): Promise<Principal> {
    const { sessions, users } = this.#parts;
    const [session, user] = await Promise.all([sessions.find(proof.session), users.find(proof.subject)]);
    if (session === null || user === null || user.disabled || session.user !== user._id) throw invalidCredential();
    return toPrincipal(user, session._id, proof.expiresAt);
  }

  async #byKey(text: string): Promise<KeyPrincipal> {
    const key = await this.#parts.keys.find(text);
    if (key === null) throw invalidCredential();
    this.#parts.keys.touch(key._id, this.#now());
    return toKeyPrincipal(key);
  }

  async #ofKey(id: string): Promise<KeyPrincipal> {
    const key = await this.#parts.keys.current(id);
    if (key === null) throw invalidCredential();
    return toKeyPrincipal(key);
  }
}

/** What a principal is read again from. */
function factsOf(principal: Exclude<Principal, { kind: 'anonymous' }>): Record<string, unknown> {
  const { kind, id, expiresAt } = principal;
  return kind === 'key' ? { kind, id } : { kind, id, session: principal.session, expiresAt };
}
