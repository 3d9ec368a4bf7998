/**
 * The passkeys of accounts (WebAuthn): adding, naming, removing and proving them. A challenge is a single-use secret, bound to
 * the session or to the ticket for which it was made. Not here: HTTP (http/factors/), and the sessions that are opened
 * (passkey-sign-in.ts, factor-sign-in.ts).
 */
import { hash } from 'node:crypto';
import type { Activity } from '../../database/activity.ts';
import type { Stamp } from '../../database/system-collection.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Users } from '../accounts/users.ts';
import type { User } from '../identity/user.ts';
import { type SignInDelays, underPasskey } from '../sign-in/sign-in-delays.ts';
import type { SingleUse } from '../sign-in/single-use.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { Sessions } from '../tokens/sessions.ts';
import { MOST_PASSKEYS, type NewPasskey, type PasskeyRow, type PasskeyStore } from './passkey-store.ts';
import {
  type AuthenticationResponseJSON,
  challengeOf,
  checkedNew,
  checkedUse,
  creationOptions,
  type RegistrationResponseJSON,
  type RelyingParty,
  relyingPartyOf,
  requestOptions,
} from './webauthn.ts';

export interface PasskeysParts {
  readonly store: PasskeyStore;
  readonly users: Pick<Users, 'get'>;
  readonly sessions: Pick<Sessions, 'confirmOpen'>;
  readonly singleUse: SingleUse;
  readonly delays: SignInDelays;
  readonly activity: Activity;
  /** Where people reach this server. */
  readonly base: string;
  readonly now: () => number;
}

/** As its holder is shown it. */
export interface ShownPasskey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly usedAt: string | null;
  /** Whether it is kept in several devices of its holder. */
  readonly synced: boolean;
}

/** A passkey that was proved. */
export interface ProvedPasskey {
  readonly id: string;
  readonly user: User;
  /** Whether the authenticator checked who holds it, by a PIN or a fingerprint. */
  readonly isVerified: boolean;
}

export class Passkeys {
  readonly #parts: PasskeysParts;
  readonly #party: RelyingParty | null;

  constructor(parts: PasskeysParts) {
    this.#parts = parts;
    this.#party = relyingPartyOf(parts.base);
  }

  async list(user: string): Promise<readonly ShownPasskey[]> {
    return (await this.#parts.store.of(user)).map(toShownPasskey);
  }

  /**
   * The options for a new passkey.
   * @param session the one that will add it
   * @throws MillraceError `passkeys-unavailable`, `too-many-passkeys`
   */
  async begin({ _id, kind, email, username }: User, session: string): Promise<ReturnType<typeof creationOptions>> {
    const party = this.#requireParty();
    const present = await this.#fewEnough(_id);
    const challenge = await this.#parts.singleUse.make('passkey-new', _id, { facts: { session } });
    const name = email ?? username ?? _id;
    const wanted = { id: _id, name, mustVerify: kind === 'owner' };
    const ids = present.map((row) => row._id);
    return creationOptions(party, wanted, challenge, ids);
  }

  /**
   * Adds a passkey.
   * @throws MillraceError `passkeys-unavailable`, `passkey-refused`, `passkey-exists`, `too-many-passkeys`,
   *   `invalid-credential` when the session has ended meanwhile
   */
  async add(
    { _id, kind }: User,
    session: string,
    { name, credential }: { readonly name: string; readonly credential: RegistrationResponseJSON },
    stamp: Stamp,
  ): Promise<ShownPasskey> {
    const { store, singleUse, sessions, activity, now } = this.#parts;
    const party = this.#requireParty();
    const challenge = challengeOf(credential.response.clientDataJSON);
    const taken = challenge === null ? null : await singleUse.take('passkey-new', challenge);
    const isOurs = taken !== null && taken.subject === _id && taken.facts['session'] === session;
    if (challenge === null || !isOurs) throw refused('The challenge was used, has expired, or is not of this session');
    const made = await checkedNew(credential, party, challenge);
    if (made === null) throw refused(`It is not an answer to the challenge, or not for ${party.origin}`);
    if (kind === 'owner' && !made.isVerified)
      throw refused('Owners need a passkey that asks for a PIN or a fingerprint');
    const { id, publicKey, counter, isSynced } = made;
    const times = { createdAt: new Date(now()), usedAt: null };
    const row: NewPasskey = { _id: id, user: _id, name, publicKey, counter, isSynced, ...times };
    const outcome = await store.insert(row);
    if (outcome === 'exists') throw new MillraceError('passkey-exists', 'The passkey was added already');
    if (outcome === 'full') throw tooManyPasskeys();
    await sessions.confirmOpen(session, () => store.remove(_id, id));
    await activity.record('system.factor.added', { user: _id, kind: 'passkey' }, stamp);
    return toShownPasskey(row);
  }

  /** @throws MillraceError `document-not-found` */
  async rename(user: string, id: string, name: string): Promise<ShownPasskey> {
    const row = await this.#parts.store.rename(user, id, name);
    if (row === null) throw noPasskey();
    return toShownPasskey(row);
  }

  /** @throws MillraceError `document-not-found` */
  async remove(user: string, id: string, stamp: Stamp): Promise<void> {
    if (!(await this.#parts.store.remove(user, id))) throw noPasskey();
    await this.#parts.activity.record('system.factor.removed', { user, kind: 'passkey' }, stamp);
  }

  /** Removes all that an account has. */
  async removeAll(user: string, stamp: Stamp): Promise<void> {
    const { store, activity } = this.#parts;
    if ((await store.removeAll(user)) > 0)
      await activity.record('system.factor.removed', { user, kind: 'passkey' }, stamp);
  }

  /** Whether a passkey still belongs to an account. */
  async stands(user: string, id: string): Promise<boolean> {
    return (await this.#parts.store.find(id))?.user === user;
  }

  /**
   * The options for proving a passkey.
   * @param ticket of a sign-in that waits for the second factor; null to sign in by the passkey alone
   * @throws MillraceError `passkeys-unavailable`
   */
  async ask(ticket: string | null): Promise<ReturnType<typeof requestOptions>> {
    const party = this.#requireParty();
    const facts = { ticket: ticket === null ? null : digestOf(ticket) };
    return requestOptions(party, await this.#parts.singleUse.make('passkey', null, { facts }), ticket !== null);
  }

  /**
   * Checks the proof of a passkey, which counts as used then. Owners must have proved themselves to the authenticator, and so
   * must everybody at the second factor.
   * @param ticket the one for which the challenge was made; null for none
   * @throws MillraceError `sign-in-failed` for every cause, `rate-limited`
   */
  async prove(
    credential: AuthenticationResponseJSON,
    ticket: string | null,
    origin: SessionOrigin,
  ): Promise<ProvedPasskey> {
    const { store, delays, activity } = this.#parts;
    const row = await store.find(credential.id);
    const { address } = origin;
    const attempt = { under: underPasskey(credential.id), account: row?.user ?? null, address };
    await delays.pass(attempt);
    const proved = row === null ? null : await this.#proved(row, credential, ticket);
    if (proved !== null) {
      await delays.succeeded(attempt);
      return proved;
    }
    await delays.failed(attempt);
    const details = { user: row?.user ?? null, address, provider: null, reason: 'passkey' };
    await activity.record('system.auth.failed', details, stampOf(origin));
    throw new MillraceError('sign-in-failed', 'The passkey is not known here, or its answer is not right', {
      hint: 'Ask for another challenge: POST /auth/passkeys/challenge',
      headers: { 'www-authenticate': 'Bearer realm="millrace"' },
    });
  }

  async #proved(
    row: PasskeyRow,
    credential: AuthenticationResponseJSON,
    ticket: string | null,
  ): Promise<ProvedPasskey | null> {
    const { store, users, singleUse, now } = this.#parts;
    const challenge = challengeOf(credential.response.clientDataJSON);
    const taken = challenge === null ? null : await singleUse.take('passkey', challenge);
    const isOurs = taken !== null && taken.facts['ticket'] === (ticket === null ? null : digestOf(ticket));
    if (challenge === null || !isOurs || this.#party === null) return null;
    const { userHandle } = credential.response;
    if (userHandle !== undefined && Buffer.from(userHandle, 'base64url').toString() !== row.user) return null;
    const { _id: id, publicKey, counter } = row;
    const use = await checkedUse(credential, this.#party, challenge, { id, publicKey, counter });
    if (use === null) return null;
    const user = await users.get(row.user);
    // A ticket may come from this same passkey: a device alone must not be both factors.
    if ((user.kind === 'owner' || ticket !== null) && !use.isVerified) return null;
    if (!(await store.use(row, use.counter, new Date(now())))) return null;
    return { id, user, isVerified: use.isVerified };
  }

  async #fewEnough(user: string): Promise<readonly PasskeyRow[]> {
    const present = await this.#parts.store.of(user);
    if (present.length < MOST_PASSKEYS) return present;
    throw tooManyPasskeys();
  }

  #requireParty(): RelyingParty {
    if (this.#party !== null) return this.#party;
    throw new MillraceError(
      'passkeys-unavailable',
      'Passkeys need a host name, and this server is reached by an IP address',
      {
        hint: 'Set MILLRACE_PUBLIC_URL to an address with a name',
      },
    );
  }
}

function toShownPasskey({ _id, name, createdAt, usedAt, isSynced }: NewPasskey): ShownPasskey {
  return {
    id: _id,
    name,
    createdAt: createdAt.toISOString(),
    usedAt: usedAt?.toISOString() ?? null,
    synced: isSynced,
  };
}

function digestOf(ticket: string): string {
  return hash('sha256', ticket, 'base64url');
}

function refused(why: string): MillraceError {
  return new MillraceError('passkey-refused', why, { hint: 'Begin again: POST /auth/passkeys/begin' });
}

function tooManyPasskeys(): MillraceError {
  return new MillraceError('too-many-passkeys', `An account can have ${MOST_PASSKEYS} passkeys`, {
    hint: 'Remove one first: DELETE /auth/passkeys/{id}',
  });
}

function noPasskey(): MillraceError {
  return new MillraceError('document-not-found', 'The account has no such passkey');
}
