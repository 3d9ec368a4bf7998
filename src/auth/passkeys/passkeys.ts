/**
 * The passkeys of users (WebAuthn): adding, renaming, removing and verifying them. A challenge is a single-use secret,
 * bound to its session or ticket.
 */
import { hash } from 'node:crypto';
import type { AuditEvents } from '../../database/audit-only-events.ts';
import type { ChangeStamp } from '../../database/system-collection.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { User } from '../identity/user.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { type LoginThrottle, passkeyThrottleKey } from '../sign-in/login-throttle.ts';
import type { OneTimeTokens } from '../tokens/one-time-tokens.ts';
import type { Users } from '../users/users.ts';
import { MAX_PASSKEYS_PER_USER, type NewPasskey, type PasskeyRow, type PasskeyStore } from './passkey-store.ts';
import {
  type AuthenticationResponseJSON,
  passkeyCreationOptions,
  passkeyRequestOptions,
  type RegistrationResponseJSON,
  type RelyingParty,
  readPasskeyChallenge,
  relyingPartyOf,
  verifyPasskeyAssertion,
  verifyPasskeyRegistration,
} from './webauthn.ts';

export interface PasskeysDeps {
  readonly store: PasskeyStore;
  readonly users: Pick<Users, 'get'>;
  readonly sessions: Pick<Sessions, 'confirmOpen'>;
  readonly oneTimeTokens: OneTimeTokens;
  readonly delays: LoginThrottle;
  readonly activity: AuditEvents;
  /** The public URL of this server. */
  readonly base: string;
  readonly now: () => number;
}

/** As its user sees it. */
export interface PasskeyView {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  /** Whether several devices of its holder store it. */
  readonly synced: boolean;
}

/** A passkey that was verified. */
export interface VerifiedPasskey {
  readonly id: string;
  readonly user: User;
  /** Whether the authenticator verified the user with a PIN or a fingerprint. */
  readonly isVerified: boolean;
}

export class Passkeys {
  readonly #deps: PasskeysDeps;
  readonly #party: RelyingParty | null;

  constructor(deps: PasskeysDeps) {
    this.#deps = deps;
    this.#party = relyingPartyOf(deps.base);
  }

  async list(user: string): Promise<readonly PasskeyView[]> {
    return (await this.#deps.store.listByUser(user)).map(toShownPasskey);
  }

  /**
   * The options for a new passkey.
   * @param session the session that will add it
   * @throws MillraceError `passkeys-unavailable`, `too-many-passkeys`
   */
  async begin(
    { _id, kind, email, username }: User,
    session: string,
  ): Promise<ReturnType<typeof passkeyCreationOptions>> {
    const party = this.#requireParty();
    const present = await this.#requireBelowLimit(_id);
    const challenge = await this.#deps.oneTimeTokens.make('passkey-new', _id, { facts: { session } });
    const name = email ?? username ?? _id;
    const requested = { id: _id, name, mustVerify: kind === 'admin' };
    const ids = present.map((row) => row._id);
    return passkeyCreationOptions(party, requested, challenge, ids);
  }

  /**
   * Adds a passkey.
   * @throws MillraceError `passkeys-unavailable`, `invalid-passkey`, `passkey-exists`, `too-many-passkeys`,
   *   `invalid-token` when the session has ended meanwhile
   */
  async add(
    { _id, kind }: User,
    session: string,
    { name, credential }: { readonly name: string; readonly credential: RegistrationResponseJSON },
    stamp: ChangeStamp,
  ): Promise<PasskeyView> {
    const { store, oneTimeTokens, sessions, activity, now } = this.#deps;
    const party = this.#requireParty();
    const challenge = readPasskeyChallenge(credential.response.clientDataJSON);
    const taken = challenge === null ? null : await oneTimeTokens.take('passkey-new', challenge);
    const isOurs = taken !== null && taken.subject === _id && taken.facts['session'] === session;
    if (challenge === null || !isOurs)
      throw refused('The challenge was used, has expired, or belongs to another session');
    const created = await verifyPasskeyRegistration(credential, party, challenge);
    if (created === null) throw refused(`It is not a response to the challenge, or not for ${party.origin}`);
    if (kind === 'admin' && !created.isVerified)
      throw refused('Administrators need a passkey that requires a PIN or a fingerprint');
    const { id, publicKey, counter, isSynced } = created;
    const times = { createdAt: new Date(now()), lastUsedAt: null };
    const row: NewPasskey = { _id: id, user: _id, name, publicKey, counter, isSynced, ...times };
    const outcome = await store.insert(row);
    if (outcome === 'exists') throw new MillraceError('passkey-exists', 'The passkey was already added');
    if (outcome === 'full') throw tooManyPasskeys();
    await sessions.confirmOpen(session, () => store.remove(_id, id));
    await activity.record('system.mfa.added', { user: _id, kind: 'passkey' }, stamp);
    return toShownPasskey(row);
  }

  /** @throws MillraceError `passkey-not-found` */
  async rename(user: string, id: string, name: string): Promise<PasskeyView> {
    const row = await this.#deps.store.rename(user, id, name);
    if (row === null) throw noPasskey();
    return toShownPasskey(row);
  }

  /** @throws MillraceError `passkey-not-found` */
  async remove(user: string, id: string, stamp: ChangeStamp): Promise<void> {
    if (!(await this.#deps.store.remove(user, id))) throw noPasskey();
    await this.#deps.activity.record('system.mfa.removed', { user, kind: 'passkey' }, stamp);
  }

  /** Removes all passkeys of a user. */
  async removeAll(user: string, stamp: ChangeStamp): Promise<void> {
    const { store, activity } = this.#deps;
    if ((await store.removeAll(user)) > 0)
      await activity.record('system.mfa.removed', { user, kind: 'passkey' }, stamp);
  }

  /** Whether a passkey still belongs to a user. */
  async exists(user: string, id: string): Promise<boolean> {
    return (await this.#deps.store.find(id))?.user === user;
  }

  /**
   * The options for signing in with a passkey.
   * @param ticket of a sign-in that waits for the second factor; null to sign in with the passkey alone
   * @throws MillraceError `passkeys-unavailable`
   */
  async request(ticket: string | null): Promise<ReturnType<typeof passkeyRequestOptions>> {
    const party = this.#requireParty();
    const facts = { ticket: ticket === null ? null : digestOf(ticket) };
    return passkeyRequestOptions(
      party,
      await this.#deps.oneTimeTokens.make('passkey', null, { facts }),
      ticket !== null,
    );
  }

  /**
   * Verifies the response of a passkey, which then counts as used. User verification is required of administrators, and
   * of everyone at the second factor.
   * @param ticket the one for which the challenge was created; null for none
   * @throws MillraceError `invalid-credentials` for every cause, `rate-limited`
   */
  async verify(
    credential: AuthenticationResponseJSON,
    ticket: string | null,
    origin: SessionOrigin,
  ): Promise<VerifiedPasskey> {
    const { store, delays, activity } = this.#deps;
    const row = await store.find(credential.id);
    const { ip } = origin;
    const attempt = { throttleKey: passkeyThrottleKey(credential.id), user: row?.user ?? null, ip };
    await delays.checkAllowed(attempt);
    const verified = row === null ? null : await this.#verified(row, credential, ticket);
    if (verified !== null) {
      await delays.succeeded(attempt);
      return verified;
    }
    await delays.failed(attempt);
    const details = { user: row?.user ?? null, ip, provider: null, reason: 'passkey' };
    await activity.record('system.auth.failed', details, changeStampFromOrigin(origin));
    throw new MillraceError('invalid-credentials', 'The passkey is unknown, or its response is wrong', {
      hint: 'Request another challenge: POST /auth/passkeys/authentication-options',
      headers: { 'www-authenticate': 'Bearer realm="millrace"' },
    });
  }

  async #verified(
    row: PasskeyRow,
    credential: AuthenticationResponseJSON,
    ticket: string | null,
  ): Promise<VerifiedPasskey | null> {
    const { store, users, oneTimeTokens, now } = this.#deps;
    const challenge = readPasskeyChallenge(credential.response.clientDataJSON);
    const taken = challenge === null ? null : await oneTimeTokens.take('passkey', challenge);
    const isOurs = taken !== null && taken.facts['ticket'] === (ticket === null ? null : digestOf(ticket));
    if (challenge === null || !isOurs || this.#party === null) return null;
    const { userHandle } = credential.response;
    if (userHandle !== undefined && Buffer.from(userHandle, 'base64url').toString() !== row.user) return null;
    const { _id: id, publicKey, counter } = row;
    const use = await verifyPasskeyAssertion(credential, this.#party, challenge, { id, publicKey, counter });
    if (use === null) return null;
    const user = await users.get(row.user);
    // The ticket may come from this same passkey: a device alone must not be both factors.
    if ((user.kind === 'admin' || ticket !== null) && !use.isVerified) return null;
    if (!(await store.use(row, use.counter, new Date(now())))) return null;
    return { id, user, isVerified: use.isVerified };
  }

  async #requireBelowLimit(user: string): Promise<readonly PasskeyRow[]> {
    const present = await this.#deps.store.listByUser(user);
    if (present.length < MAX_PASSKEYS_PER_USER) return present;
    throw tooManyPasskeys();
  }

  #requireParty(): RelyingParty {
    if (this.#party !== null) return this.#party;
    throw new MillraceError(
      'passkeys-unavailable',
      'Passkeys require a host name, and this server is used with an IP address',
      {
        hint: 'Set MILLRACE_PUBLIC_URL to a URL with a host name',
      },
    );
  }
}

function toShownPasskey({ _id, name, createdAt, lastUsedAt, isSynced }: NewPasskey): PasskeyView {
  return {
    id: _id,
    name,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    synced: isSynced,
  };
}

function digestOf(ticket: string): string {
  return hash('sha256', ticket, 'base64url');
}

function refused(why: string): MillraceError {
  return new MillraceError('invalid-passkey', why, { hint: 'Start again: POST /auth/passkeys/registration-options' });
}

function tooManyPasskeys(): MillraceError {
  return new MillraceError('too-many-passkeys', `A user can have at most ${MAX_PASSKEYS_PER_USER} passkeys`, {
    hint: 'Remove one first: DELETE /auth/passkeys/{id}',
  });
}

function noPasskey(): MillraceError {
  return new MillraceError('passkey-not-found', 'The user has no such passkey');
}
