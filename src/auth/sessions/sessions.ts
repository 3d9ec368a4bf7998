/**
 * Sessions: opened by a sign-in, kept alive by refresh tokens that work once, and ended in all processes at once by any
 * principal with the right to.
 */
import { clientNetwork } from '../../config/addresses.ts';
import type { AuditEvents } from '../../database/audit-only-events.ts';
import { actorText, type ChangeStamp, newDocumentMeta } from '../../database/system-collection.ts';
import { invalidToken } from '../identity/auth-errors.ts';
import type { User } from '../identity/user.ts';
import { ACCESS_TOKEN_LIFETIME_MS } from '../tokens/access-tokens.ts';
import type { SigningKeySet } from '../tokens/signing-keys.ts';
import {
  createRefreshToken,
  decodeRefreshToken,
  deriveNextRefreshToken,
  encodeRefreshToken,
  hashRefreshToken,
  isRotatedRefreshToken,
  type RefreshToken,
} from './refresh-token.ts';
import { changeStampFromOrigin, type Session, type SessionEndReason, type SessionOrigin } from './session.ts';
import type { SessionStore } from './session-store.ts';

/** A session ends when it was not used for this long. */
const IDLE_MS = 30 * 24 * 3_600_000;
/** How long after its use a refresh token still returns the same successor. */
const GRACE_MS = 10_000;
/** Sessions of one user; the oldest end when there are more. */
const MAX_SESSIONS = 100;
const SWEEP = 500;

/** The session data that a client gets. */
export interface SessionTokens {
  readonly accessToken: string;
  /** Seconds. */
  readonly expiresIn: number;
  readonly refreshToken: string;
}

/** A session whose tokens were renewed. */
export interface RefreshedSession {
  /** The id of the user. */
  readonly user: string;
  readonly tokens: SessionTokens;
}

export interface SessionView {
  readonly id: string;
  readonly createdAt: string;
  /** When its tokens were last renewed. */
  readonly lastUsedAt: string | null;
  readonly ip: string;
  readonly userAgent: string | null;
  readonly current: boolean;
}

export interface SessionsDeps {
  readonly store: SessionStore;
  /** Signs access tokens. */
  readonly signingKeys: Pick<SigningKeySet, 'sign'>;
  readonly activity: AuditEvents;
  /** Key from which refresh tokens are derived. */
  readonly key: Buffer;
  /** Called with sessions that ended in this process, before the response is sent. */
  readonly onEnded: (id: string) => void;
  readonly now?: () => number;
}

export class Sessions {
  readonly #deps: SessionsDeps;
  readonly #now: () => number;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  /**
   * Opens a session; if the user has too many, the oldest end.
   * @param identity verified by a provider; null for another way to sign in
   * @returns its id, and what the client gets
   */
  async open(
    { _id: user, kind }: User,
    origin: SessionOrigin,
    identity: string | null = null,
  ): Promise<{ session: string; tokens: SessionTokens }> {
    const now = new Date(this.#now());
    const token = createRefreshToken();
    const opened = identity === null ? {} : { identity };
    const session: Session = {
      _id: token.session,
      user,
      kind,
      ip: origin.ip,
      userAgent: origin.userAgent?.slice(0, 256) ?? null,
      ...opened,
      _meta: newDocumentMeta(changeStampFromOrigin(origin, actorText(kind, user)), now),
    };
    await this.#deps.store.insert(session, {
      _id: token.session,
      user,
      ...opened,
      generation: 0,
      hash: hashRefreshToken(token),
      used: [],
      rotatedAt: now,
      verifiedAt: now,
      expiresAt: this.#expiry(),
    });
    const all = await this.#deps.store.list(user);
    for (const { _id } of all.slice(0, -MAX_SESSIONS))
      await this.end(_id, user, 'too-many', changeStampFromOrigin(origin));
    return { session: token.session, tokens: this.#issueTokens(user, token) };
  }

  /**
   * New tokens for a refresh token, which works once. The same token may be sent again for 10 seconds and gets the same
   * successor. Later its family ends, because then two clients hold it.
   * @param onRenewed called with the identity that opened the session, if a provider did; not when a token is sent
   * again
   * @throws MillraceError `invalid-token`
   */
  async refresh(
    text: string,
    origin: SessionOrigin,
    onRenewed?: (identity: string) => void,
  ): Promise<RefreshedSession> {
    const { store, key } = this.#deps;
    const token = decodeRefreshToken(text);
    if (token === null) throw invalidToken();
    const next = deriveNextRefreshToken(token, key);
    const hash = hashRefreshToken(token);
    const [now, since] = [new Date(this.#now()), new Date(this.#now() - GRACE_MS)];
    const times = { now, since, expiresAt: this.#expiry() };
    const turned = await store.rotate({ _id: token.session, hash }, hashRefreshToken(next), times);
    const family = await store.family(token.session);
    if (family === null) throw invalidToken();
    if (turned) {
      if (family.identity !== undefined) onRenewed?.(family.identity);
      return { user: family.user, tokens: this.#issueTokens(family.user, next) };
    }
    if (family.expiresAt.getTime() > this.#now() && isRotatedRefreshToken(token, family, key)) {
      const { generation } = token;
      const used = family.used.find(({ from, to }) => from <= generation && generation <= to);
      if (used !== undefined && this.#now() - used.at.getTime() < GRACE_MS) {
        return { user: family.user, tokens: this.#issueTokens(family.user, next) };
      }
      await this.end(token.session, family.user, 'token-reused', changeStampFromOrigin(origin));
    }
    throw invalidToken();
  }

  /** When the holder of a session was last authenticated, in milliseconds since 1970; 0 where it has ended. */
  async verifiedAt(session: string): Promise<number> {
    return (await this.#deps.store.family(session))?.verifiedAt?.getTime() ?? 0;
  }

  /** Records that the holder of a session has just been authenticated. */
  recordVerification(session: string): Promise<void> {
    return this.#deps.store.recordVerification(session, new Date(this.#now()));
  }

  /** The identity that opened a session; null where a provider did not, and where it has ended. */
  async identityOf(session: string): Promise<string | null> {
    return (await this.#deps.store.find(session))?.identity ?? null;
  }

  /** True if a user has a session that was opened from this network. */
  async openedFrom(user: string, network: string): Promise<boolean> {
    const sessions = await this.#deps.store.list(user);
    return sessions.some(({ ip }) => clientNetwork(ip) === network);
  }

  /** @param current the session of the request, if it belongs to this user */
  async list(user: string, current: string | null): Promise<SessionView[]> {
    const sessions = await this.#deps.store.list(user);
    const families = await this.#deps.store.families(sessions.map(({ _id }) => _id));
    const usedAt = new Map(families.map(({ _id, rotatedAt }) => [_id, rotatedAt.toISOString()]));
    return sessions.map(({ _id, ip, userAgent, _meta }) => ({
      id: _id,
      createdAt: _meta.createdAt.toISOString(),
      lastUsedAt: usedAt.get(_id) ?? null,
      ip,
      userAgent,
      current: _id === current,
    }));
  }

  /** Ends one session of a user; false when it has none like this. */
  async end(id: string, user: string, reason: SessionEndReason, stamp: ChangeStamp): Promise<boolean> {
    const { store, activity, onEnded } = this.#deps;
    const session = await store.find(id);
    if (session !== null && session.user !== user) return false;
    const ended = await store.remove(id, stamp);
    onEnded(id);
    if (ended) await activity.record('system.session.revoked', { session: id, user, reason }, stamp);
    return ended;
  }

  /** Ends the session of a refresh token. Does nothing for an invalid token, or when a newer one was issued. */
  async endByRefreshToken(text: string, origin: SessionOrigin): Promise<void> {
    const token = decodeRefreshToken(text);
    const family = token === null ? null : await this.#deps.store.family(token.session);
    if (token === null || family === null || family.hash !== hashRefreshToken(token)) return;
    await this.end(token.session, family.user, 'logout', changeStampFromOrigin(origin));
  }

  /** Ends all sessions of a user except one. @returns how many ended */
  async endAll(user: string, reason: SessionEndReason, stamp: ChangeStamp, but: string | null = null): Promise<number> {
    let ended = 0;
    for (const { _id } of await this.#deps.store.list(user)) {
      if (_id !== but && (await this.end(_id, user, reason, stamp))) ended += 1;
    }
    return ended;
  }

  /**
   * Checks the session of a request again after the request added a sign-in method: sessions that end remove what they
   * added, also when both happen at the same time.
   * @param undo removes what was added
   * @throws MillraceError `invalid-token` when the session has ended
   */
  async confirmOpen(id: string, undo: () => Promise<unknown>): Promise<void> {
    if ((await this.#deps.store.find(id)) !== null) return;
    await undo();
    throw invalidToken();
  }

  /** Ends the sessions of a user that an identity opened. */
  async endByIdentity(identity: string, user: string, reason: SessionEndReason, stamp: ChangeStamp): Promise<void> {
    for (const session of await this.#deps.store.list(user)) {
      if (session.identity === identity) await this.end(session._id, user, reason, stamp);
    }
  }

  /** Ends sessions that were not used for too long. */
  async endExpired(stamp: ChangeStamp): Promise<void> {
    const { store } = this.#deps;
    for (;;) {
      const expired = await store.expired(new Date(this.#now()), SWEEP);
      for (const id of expired) await store.remove(id, stamp);
      if (expired.length < SWEEP) return;
    }
  }

  #expiry(): Date {
    return new Date(this.#now() + IDLE_MS);
  }

  #issueTokens(user: string, token: RefreshToken): SessionTokens {
    return {
      accessToken: this.#deps.signingKeys.sign({ sub: user, sid: token.session }),
      expiresIn: ACCESS_TOKEN_LIFETIME_MS / 1_000,
      refreshToken: encodeRefreshToken(token),
    };
  }
}
