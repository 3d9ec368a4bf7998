/**
 * Resolves the credential of a request to its principal, caches verified credentials, and reports when a principal has
 * changed or ended.
 */
import { actorText } from '../database/system-collection.ts';
import { MillraceError } from '../lib/errors.ts';
import { invalidToken } from './identity/auth-errors.ts';
import {
  ANONYMOUS,
  type AuthenticatedPrincipal,
  type KeyPrincipal,
  type Principal,
  type RequestPrincipal,
} from './identity/principal.ts';
import { toPrincipal } from './identity/user.ts';
import { principalDependencies, type RevokedPrincipals } from './sessions/find-revocations.ts';
import type { SessionStore } from './sessions/session-store.ts';
import type { AccessTokens } from './tokens/access-tokens.ts';
import { toKeyPrincipal } from './tokens/api-key.ts';
import type { ApiKeys } from './tokens/api-keys.ts';
import { ONE_TIME_TOKEN_MS, type OneTimeTokenData, type OneTimeTokens } from './tokens/one-time-tokens.ts';
import {
  type ReconnectTokenBinding,
  STREAM_LIFETIME_MS,
  type StreamReconnectTokens,
} from './tokens/stream-reconnect-tokens.ts';
import type { UserStore } from './users/user-store.ts';

/** Maximum cached credentials; the oldest are dropped first. */
const MAX_KEPT = 20_000;
const BEARER = /^Bearer ([\x21-\x7e]{1,4096})$/i;
/**
 * How long a verified credential is cached at most, in milliseconds. Changes arrive through the event log within a
 * second; this is how long a revoked credential could be used in another process if no process recorded events.
 */
const RETENTION_MS = 60_000;
/** Maximum reads of a principal that changes while it is read. */
const ATTEMPTS = 5;

/** True if a principal that was resolved earlier has not changed since. */
export type PrincipalValidityCheck = (principal: Principal) => boolean;

export interface AuthenticatorDeps {
  readonly tokens: AccessTokens;
  readonly sessions: Pick<SessionStore, 'find'>;
  readonly users: Pick<UserStore, 'find'>;
  readonly keys: Pick<ApiKeys, 'find' | 'current' | 'touch'>;
  readonly oneTimeTokens: OneTimeTokens;
  readonly passes: StreamReconnectTokens;
  /** Whether administrators must have a second factor; not by default. */
  readonly adminMfa?: 'optional' | 'required';
  readonly now?: () => number;
}

interface Kept {
  readonly principal: RequestPrincipal;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** The claims of a token about its user and session. */
interface SessionProof {
  readonly subject: string;
  readonly session: string;
  readonly expiresAt: number;
}

/** Identifies a principal. */
export interface PrincipalRef {
  readonly kind: RequestPrincipal['kind'];
  /** Id of the user or key; empty for anonymous. */
  readonly id: string;
}

export class Authenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #now: () => number;
  readonly #listeners = new Set<(still: PrincipalValidityCheck) => void>();
  readonly #kept = new Map<string, Kept>();
  /** Principals that are being read; their sessions, users or keys may change meanwhile. */
  readonly #reading = new Set<{ stale: boolean }>();

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  /**
   * The principal of a credential: synchronously when it is cached.
   * @param authorization the whole value of the header, `Bearer …`
   * @throws MillraceError `invalid-token`, at once or as a rejection
   */
  authenticate(authorization: string): RequestPrincipal | Promise<RequestPrincipal> {
    return this.getCached(authorization) ?? this.#verify(authorization);
  }

  /** The principal of a cached credential that is still trusted; undefined for any other. */
  getCached(authorization: string): RequestPrincipal | undefined {
    const kept = this.#kept.get(authorization);
    if (kept === undefined) return undefined;
    const now = this.#now();
    if (kept.until <= now) {
      this.#kept.delete(authorization);
      return undefined;
    }
    if (kept.principal.kind === 'key') this.#deps.keys.touch(kept.principal.id, now);
    return kept.principal;
  }

  /**
   * A ticket for this principal, for requests that cannot send a header.
   * @returns the ticket, and its lifetime in seconds
   */
  async issueTicket(principal: AuthenticatedPrincipal): Promise<{ ticket: string; expiresIn: number }> {
    const facts = factsOf(principal);
    const ticket = await this.#deps.oneTimeTokens.make('ticket', actorText(principal.kind, principal.id), { facts });
    return { ticket, expiresIn: ONE_TIME_TOKEN_MS.ticket / 1_000 };
  }

  /**
   * The principal of a ticket; a ticket works once.
   * @throws MillraceError `invalid-token`
   */
  async redeemTicket(ticket: string): Promise<RequestPrincipal> {
    const taken = await this.#deps.oneTimeTokens.take('ticket', ticket);
    if (taken === null) throw invalidToken();
    return this.#byFacts(taken.facts);
  }

  /**
   * Reads the current state of a principal, without its credential.
   * @throws MillraceError `invalid-token` when its session, user, key or time has ended
   */
  renew(principal: AuthenticatedPrincipal): Promise<RequestPrincipal> {
    return this.#byFacts(factsOf(principal));
  }

  /**
   * Reads the current state of a principal, even if its token has expired: for work that began in time.
   * @throws MillraceError `invalid-token` when its session, user or key has ended
   */
  refreshIgnoringExpiry(principal: AuthenticatedPrincipal): Promise<RequestPrincipal> {
    return this.#readConsistently(async () => {
      if (principal.kind === 'key') return this.#ofKey(principal.id);
      return this.#ofOpenSession({ ...principal, subject: principal.id });
    });
  }

  /**
   * The current state of a principal, without a session: for work that continues with its rights, such as webhooks.
   * @returns null when it is gone: the user is deleted or disabled, the key is deleted or has expired
   */
  principalFor({ kind, id }: PrincipalRef): Promise<RequestPrincipal | null> {
    return this.#readConsistently(async () => {
      if (kind === 'anonymous') return ANONYMOUS;
      if (kind === 'key') {
        const key = await this.#deps.keys.current(id);
        return key && toKeyPrincipal(key);
      }
      const user = await this.#deps.users.find(id);
      return user === null || user.disabled ? null : toPrincipal(user, '', Number.MAX_SAFE_INTEGER);
    });
  }

  /**
   * Opens a stream with a ticket. A stream outlives the token that requested the ticket: it lasts as long as its
   * session or key, and a day at most.
   * @returns the principal, and a pass for opening the stream again; null for anonymous
   * @throws MillraceError `invalid-token`
   */
  async openStream(use: ReconnectTokenBinding): Promise<{ principal: RequestPrincipal; pass: string | null }> {
    const entered = await this.redeemTicket(use.ticket);
    if (entered.kind === 'anonymous') return { principal: entered, pass: null };
    const expiresAt = this.#now() + STREAM_LIFETIME_MS;
    const principal = entered.kind === 'key' ? entered : Object.freeze({ ...entered, expiresAt });
    const { kind, id } = principal;
    const session = principal.kind === 'key' ? {} : { session: principal.session };
    return { principal, pass: this.#deps.passes.sign({ kind, id, ...session, expiresAt }, use) };
  }

  /**
   * Opens a stream again.
   * @returns null for a pass that is not valid, has expired, or belongs to another stream
   * @throws MillraceError `invalid-token` when the session, user or key has ended
   */
  async resumeStream(pass: string, use: ReconnectTokenBinding): Promise<RequestPrincipal | null> {
    const facts = this.#deps.passes.read(pass, use);
    return facts === null ? null : this.#byFacts(facts);
  }

  #byFacts({ kind, id, session, expiresAt }: OneTimeTokenData['facts']): Promise<RequestPrincipal> {
    return this.#readConsistently(async () => {
      if (kind === 'key') return this.#ofKey(String(id));
      return this.#ofSession({ subject: String(id), session: String(session), expiresAt: Number(expiresAt) });
    });
  }

  /**
   * Calls `listener`, in every process and within a second, after sessions, users, roles or keys changed.
   * @returns a function that stops the calls
   */
  onRevoked(listener: (still: PrincipalValidityCheck) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Drops the principals that have changed from the cache, and calls the listeners. */
  revoke({ ids, everything }: Pick<RevokedPrincipals, 'ids' | 'everything'>): void {
    const still: PrincipalValidityCheck = (principal) => {
      const rests = principalDependencies(principal);
      return rests.length === 0 || !(everything || rests.some((id) => ids.has(id)));
    };
    for (const reading of this.#reading) reading.stale = true;
    for (const [credential, { principal }] of this.#kept) if (!still(principal)) this.#kept.delete(credential);
    for (const listener of this.#listeners) listener(still);
  }

  async #verify(authorization: string): Promise<RequestPrincipal> {
    const [, credential] = BEARER.exec(authorization) ?? [];
    if (credential === undefined) throw invalidToken();
    return await this.#readConsistently(
      () => (credential.startsWith('mr_') ? this.#byKey(credential) : this.#byToken(credential)),
      (found) => this.#keep(authorization, found),
    );
  }

  /** Reads again until nothing was revoked during the read, so that no ended principal is cached. */
  async #readConsistently<P extends RequestPrincipal | null>(
    read: () => Promise<P>,
    then?: (principal: P) => void,
  ): Promise<P> {
    const reading = { stale: false };
    this.#reading.add(reading);
    try {
      for (let attempts = 1; ; attempts++) {
        reading.stale = false;
        const principal = await read();
        if (!reading.stale) then?.(principal);
        if (!reading.stale || attempts === ATTEMPTS) return principal;
      }
    } finally {
      this.#reading.delete(reading);
    }
  }

  #keep(authorization: string, principal: RequestPrincipal): void {
    const expiresAt = principal.kind === 'anonymous' ? null : principal.expiresAt;
    const until = Math.min(this.#now() + RETENTION_MS, expiresAt ?? Number.POSITIVE_INFINITY);
    this.#kept.set(authorization, { principal, until });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
  }

  async #byToken(token: string): Promise<RequestPrincipal> {
    const proof = await this.#deps.tokens.verify(token).catch((error: unknown) => {
      // A MillraceError may mean that the database is unreachable; every other error means a bad token.
      throw error instanceof MillraceError ? error : invalidToken(error);
    });
    return this.#ofSession(proof);
  }

  async #ofSession(proof: SessionProof): Promise<RequestPrincipal> {
    const principal = await this.#ofOpenSession(proof);
    if (proof.expiresAt <= this.#now()) throw invalidToken();
    return principal;
  }

  /** The principal of an open session, even if its token has expired. */
  async #ofOpenSession(proof: SessionProof): Promise<RequestPrincipal> {
    const { sessions, users } = this.#deps;
    const [session, user] = await Promise.all([sessions.find(proof.session), users.find(proof.subject)]);
    if (session === null || user === null || user.disabled || session.user !== user._id) throw invalidToken();
    const principal = toPrincipal(user, session._id, proof.expiresAt);
    const needs = principal.kind === 'admin' && this.#deps.adminMfa === 'required' && user.secondFactor !== true;
    return needs ? Object.freeze({ ...principal, roles: [], needsMfaEnrollment: true as const }) : principal;
  }

  async #byKey(text: string): Promise<KeyPrincipal> {
    const key = await this.#deps.keys.find(text);
    if (key === null) throw invalidToken();
    this.#deps.keys.touch(key._id, this.#now());
    return toKeyPrincipal(key);
  }

  async #ofKey(id: string): Promise<KeyPrincipal> {
    const key = await this.#deps.keys.current(id);
    if (key === null) throw invalidToken();
    return toKeyPrincipal(key);
  }
}

/** The facts from which a principal can be read again. */
function factsOf(principal: AuthenticatedPrincipal): Record<string, unknown> {
  const { kind, id, expiresAt } = principal;
  return kind === 'key' ? { kind, id } : { kind, id, session: principal.session, expiresAt };
}
