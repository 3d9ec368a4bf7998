/**
 * Turns the credential of a request into its principal, remembers verified credentials, and reports when a principal
 * that it made earlier has changed or ended. Not here: where on a request the credential stands
 * (http/access/authentication.ts), and what the principal may do.
 */
import { actorText } from '../database/system-collection.ts';
import { MillraceError } from '../kernel/errors.ts';
import type { UserStore } from './accounts/user-store.ts';
import {
  ANONYMOUS,
  type ClientPrincipal,
  type KeyPrincipal,
  type Principal,
  type ProvenPrincipal,
} from './identity/principal.ts';
import { invalidCredential } from './identity/refusals.ts';
import { toPrincipal } from './identity/user.ts';
import { SINGLE_USE_MS, type SingleUse, type Taken } from './sign-in/single-use.ts';
import type { AccessTokens } from './tokens/access-tokens.ts';
import { toKeyPrincipal } from './tokens/api-key.ts';
import type { ApiKeys } from './tokens/api-keys.ts';
import { type Revoked, restsOn } from './tokens/revocations.ts';
import type { SessionStore } from './tokens/session-store.ts';
import { type PassUse, STREAM_MS, type StreamPasses } from './tokens/stream-passes.ts';

/** Verified credentials that are remembered; the oldest are dropped first. */
const MAX_KEPT = 20_000;
const BEARER = /^Bearer ([\x21-\x7e]{1,4096})$/i;
/**
 * How long a verified credential is trusted at most, in milliseconds. Changes arrive through the event log within a
 * second; this is how long a revoked credential could be used in another process if no process recorded events.
 */
const KEPT_MS = 60_000;
/** How often a principal is read again because it changed while it was read. */
const TRIES = 5;

/** True if a principal that was made earlier has not changed since. */
export type Still = (principal: Principal) => boolean;

export interface AuthenticatorParts {
  readonly tokens: AccessTokens;
  readonly sessions: Pick<SessionStore, 'find'>;
  readonly users: Pick<UserStore, 'find'>;
  readonly keys: Pick<ApiKeys, 'find' | 'current' | 'touch'>;
  readonly singleUse: SingleUse;
  readonly passes: StreamPasses;
  /** Whether owners must have a second factor; not by default. */
  readonly ownerFactor?: 'optional' | 'required';
  readonly now?: () => number;
}

interface Kept {
  readonly principal: ClientPrincipal;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** What a token says about its account and session. */
interface SessionProof {
  readonly subject: string;
  readonly session: string;
  readonly expiresAt: number;
}

/** Names a principal. */
export interface PrincipalName {
  readonly kind: ClientPrincipal['kind'];
  /** Id of the account or key; empty for anonymous. */
  readonly id: string;
}

/** A principal that is being read; its session, account or key may change meanwhile. */
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
  authenticate(authorization: string): ClientPrincipal | Promise<ClientPrincipal> {
    return this.recall(authorization) ?? this.#verify(authorization);
  }

  /** The principal of a credential that was verified before and is still trusted; undefined for any other. */
  recall(authorization: string): ClientPrincipal | undefined {
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
   * A ticket for this principal, for requests that cannot send a header.
   * @returns the ticket, and how long it lives, in seconds
   */
  async issueTicket(principal: ProvenPrincipal): Promise<{ ticket: string; expiresIn: number }> {
    const facts = factsOf(principal);
    const ticket = await this.#parts.singleUse.make('ticket', actorText(principal.kind, principal.id), { facts });
    return { ticket, expiresIn: SINGLE_USE_MS.ticket / 1_000 };
  }

  /**
   * The principal of a ticket; a ticket works once.
   * @throws MillraceError `invalid-credential`
   */
  async redeemTicket(ticket: string): Promise<ClientPrincipal> {
    const taken = await this.#parts.singleUse.take('ticket', ticket);
    if (taken === null) throw invalidCredential();
    return this.#byFacts(taken.facts);
  }

  /**
   * Reads a principal again, without its credential, as it is now.
   * @throws MillraceError `invalid-credential` when its session, account, key or time has ended
   */
  renew(principal: ProvenPrincipal): Promise<ClientPrincipal> {
    return this.#byFacts(factsOf(principal));
  }

  /**
   * Reads a principal again as it is now, even if its token has expired: for work that began in time.
   * @throws MillraceError `invalid-credential` when its session, account or key has ended
   */
  present(principal: ProvenPrincipal): Promise<ClientPrincipal> {
    return this.#steadily(async () => {
      if (principal.kind === 'key') return this.#ofKey(principal.id);
      return this.#ofOpenSession({ ...principal, subject: principal.id });
    });
  }

  /**
   * A principal as it is now, without a session: for work that goes on in its right, such as webhooks.
   * @returns null when it is gone: the account is deleted or disabled, the key is deleted or has expired
   */
  standing({ kind, id }: PrincipalName): Promise<ClientPrincipal | null> {
    return this.#steadily(async () => {
      if (kind === 'anonymous') return ANONYMOUS;
      if (kind === 'key') {
        const key = await this.#parts.keys.current(id);
        return key && toKeyPrincipal(key);
      }
      const user = await this.#parts.users.find(id);
      return user === null || user.disabled ? null : toPrincipal(user, '', Number.MAX_SAFE_INTEGER);
    });
  }

  /**
   * Opens a stream with a ticket. A stream lasts longer than the token that the ticket was requested with: as long as its
   * session or key, and a day at most.
   * @returns the principal, and a pass for opening the stream again; null for anonymous
   * @throws MillraceError `invalid-credential`
   */
  async enterStream(use: PassUse): Promise<{ principal: ClientPrincipal; pass: string | null }> {
    const entered = await this.redeemTicket(use.ticket);
    if (entered.kind === 'anonymous') return { principal: entered, pass: null };
    const expiresAt = this.#now() + STREAM_MS;
    const principal = entered.kind === 'key' ? entered : Object.freeze({ ...entered, expiresAt });
    const { kind, id } = principal;
    const session = principal.kind === 'key' ? {} : { session: principal.session };
    return { principal, pass: this.#parts.passes.sign({ kind, id, ...session, expiresAt }, use) };
  }

  /**
   * Opens a stream again.
   * @returns null for a pass that is none, has expired, or belongs to another stream
   * @throws MillraceError `invalid-credential` when the session, account or key has ended
   */
  async resumeStream(pass: string, use: PassUse): Promise<ClientPrincipal | null> {
    const facts = this.#parts.passes.read(pass, use);
    return facts === null ? null : this.#byFacts(facts);
  }

  #byFacts({ kind, id, session, expiresAt }: Taken['facts']): Promise<ClientPrincipal> {
    return this.#steadily(async () => {
      if (kind === 'key') return this.#ofKey(String(id));
      return this.#ofSession({ subject: String(id), session: String(session), expiresAt: Number(expiresAt) });
    });
  }

  /**
   * Calls `listener`, in every process and within a second, after sessions, users, roles or keys changed.
   * @returns a function that stops the calls
   */
  onRevoked(listener: (still: Still) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Forgets the principals that have changed, and calls the listeners. */
  revoke({ ids, everything }: Pick<Revoked, 'ids' | 'everything'>): void {
    const still: Still = (principal) => {
      const rests = restsOn(principal);
      return rests.length === 0 || !(everything || rests.some((id) => ids.has(id)));
    };
    for (const reading of this.#reading) reading.stale = true;
    for (const [credential, { principal }] of this.#kept) if (!still(principal)) this.#kept.delete(credential);
    for (const listener of this.#listeners) listener(still);
  }

  async #verify(authorization: string): Promise<ClientPrincipal> {
    const [, credential] = BEARER.exec(authorization) ?? [];
    if (credential === undefined) throw invalidCredential();
    const principal = await this.#steadily(
      () => (credential.startsWith('mr_') ? this.#byKey(credential) : this.#byToken(credential)),
      (found) => this.#keep(authorization, found),
    );
    return principal;
  }

  /** Reads again until nothing was revoked during the reading, so that no ended principal is remembered. */
  async #steadily<P extends ClientPrincipal | null>(read: () => Promise<P>, then?: (principal: P) => void): Promise<P> {
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

  #keep(authorization: string, principal: ClientPrincipal): void {
    const expiresAt = principal.kind === 'anonymous' ? null : principal.expiresAt;
    const until = Math.min(this.#now() + KEPT_MS, expiresAt ?? Number.POSITIVE_INFINITY);
    this.#kept.set(authorization, { principal, until });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
  }

  async #byToken(token: string): Promise<ClientPrincipal> {
    const proof = await this.#parts.tokens.verify(token).catch((error: unknown) => {
      // A MillraceError may mean that the database is away; every other error means a bad token.
      throw error instanceof MillraceError ? error : invalidCredential(error);
    });
    return this.#ofSession(proof);
  }

  async #ofSession(proof: SessionProof): Promise<ClientPrincipal> {
    const principal = await this.#ofOpenSession(proof);
    if (proof.expiresAt <= this.#now()) throw invalidCredential();
    return principal;
  }

  /** The principal of a session that is open, even if its token has expired. */
  async #ofOpenSession(proof: SessionProof): Promise<ClientPrincipal> {
    const { sessions, users } = this.#parts;
    const [session, user] = await Promise.all([sessions.find(proof.session), users.find(proof.subject)]);
    if (session === null || user === null || user.disabled || session.user !== user._id) throw invalidCredential();
    const principal = toPrincipal(user, session._id, proof.expiresAt);
    const needs = principal.kind === 'owner' && this.#parts.ownerFactor === 'required' && user.secondFactor !== true;
    return needs ? Object.freeze({ ...principal, roles: [], lacksFactor: true as const }) : principal;
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

/** The facts from which a principal can be read again. */
function factsOf(principal: ProvenPrincipal): Record<string, unknown> {
  const { kind, id, expiresAt } = principal;
  return kind === 'key' ? { kind, id } : { kind, id, session: principal.session, expiresAt };
}
