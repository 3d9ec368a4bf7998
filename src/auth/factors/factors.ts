/**
 * The second factor of an account: an authenticator app (TOTP), with recovery codes. Setting it up, checking its codes,
 * removing it. Seeds and codes are shown once, to their holder. Not here: HTTP (http/factors/), and how a sign-in goes on
 * (factor-sign-in.ts).
 */
import type { Activity } from '../../database/activity.ts';
import type { Stamp } from '../../database/system-collection.ts';
import { Semaphore } from '../../kernel/concurrency/semaphore.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Users } from '../accounts/users.ts';
import { wrongCode } from '../identity/refusals.ts';
import type { User } from '../identity/user.ts';
import { type SignInDelays, underFactor } from '../sign-in/sign-in-delays.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { Sessions } from '../tokens/sessions.ts';
import type { FactorRow, FactorStore } from './factor-store.ts';
import { qrOf } from './qr.ts';
import { hashRecoveryCode, newRecoveryCodes } from './recovery-codes.ts';
import { newSeed, otpauthOf, stepOf } from './totp.ts';

/** How long a seed waits for its confirmation. */
const BEGUN_MS = 30 * 60_000;
/** Attempts that wait for their turn in a process; more are refused. */
const WAITING = 256;
const TOTP_CODE = /^\d{6}$/;

export interface FactorsParts {
  readonly store: FactorStore;
  readonly users: Users;
  readonly sessions: Pick<Sessions, 'endAll' | 'confirmOpen'>;
  readonly delays: SignInDelays;
  readonly activity: Activity;
  /** Where people reach this server. */
  readonly base: string;
  readonly now: () => number;
}

/** What a user is shown who begins. */
export interface BegunFactor {
  /** For an authenticator app. */
  readonly uri: string;
  /** The seed alone, for people who cannot scan the picture. */
  readonly secret: string;
  /** The same address as a picture, SVG. */
  readonly qr: string;
}

export interface ShownFactor {
  /** Since when it is in force; null for none. */
  readonly since: string | null;
  readonly recoveryCodes: number;
}

export class Factors {
  readonly #parts: FactorsParts;
  readonly #turn = new Semaphore(1, WAITING);

  constructor(parts: FactorsParts) {
    this.#parts = parts;
  }

  /** @throws MillraceError `factor-exists` */
  async begin({ _id, email, username }: User): Promise<BegunFactor> {
    const { store, base, now } = this.#parts;
    const secret = newSeed();
    if (!(await store.begin(_id, store.seal(_id, secret), new Date(now())))) throw factorExists();
    const uri = otpauthOf(secret, new URL(base).hostname, email ?? username ?? _id);
    return { uri, secret, qr: qrOf(uri) };
  }

  /**
   * Puts the seed that was begun in force, when its holder has a code of it. Ends the other sessions of the account, which
   * were opened without a code.
   * @param session the one that asks
   * @returns the recovery codes
   * @throws MillraceError `factor-exists`, `factor-not-begun`, `sign-in-failed` for a wrong code, `rate-limited`,
   *   `invalid-credential` when the session has ended meanwhile
   */
  async confirm(
    user: User,
    session: string,
    code: string,
    origin: SessionOrigin,
    stamp: Stamp,
  ): Promise<readonly string[]> {
    const { store, sessions, now } = this.#parts;
    const codes = newRecoveryCodes();
    const hashes = codes.flatMap((one) => hashRecoveryCode(one) ?? []);
    await this.#slowly(user, origin, async () => {
      const row = await store.find(user._id);
      if (row?.since !== undefined) throw factorExists();
      const { begun } = row ?? {};
      if (begun === undefined || now() - begun.at.getTime() >= BEGUN_MS) throw notBegun();
      const step = stepOf(store.open(user._id, begun.sealed), plain(code), now());
      if (step === null) return false;
      if (await store.confirm(user._id, begun.sealed, step, hashes, new Date(now()))) return true;
      throw notBegun();
    });
    await sessions.confirmOpen(session, () => store.removeAll(user._id));
    await sessions.endAll(user._id, 'factor-added', stamp, session);
    await this.#told(user, stamp);
    return codes;
  }

  /** What an account has. */
  async shown(user: string): Promise<ShownFactor> {
    const row = await this.#parts.store.find(user);
    return { since: row?.since?.toISOString() ?? null, recoveryCodes: row?.codes?.length ?? 0 };
  }

  /** Removes the factor of an account. @throws MillraceError `document-not-found` */
  async remove(user: string, stamp: Stamp): Promise<void> {
    const { store, users, activity } = this.#parts;
    const removed = await store.removeAll(user);
    // A program that stopped in the middle of a removal left the word in the account, and it is taken away now.
    if (!removed && (await users.get(user)).secondFactor !== true) throw noFactor();
    await users.change(user, { secondFactor: false }, stamp);
    await activity.record('system.factor.removed', { user, kind: 'totp' }, stamp);
  }

  /** New recovery codes in the place of those before. @throws MillraceError `document-not-found` */
  async renewCodes(user: string, stamp: Stamp): Promise<readonly string[]> {
    const codes = newRecoveryCodes();
    const hashes = codes.flatMap((one) => hashRecoveryCode(one) ?? []);
    if (!(await this.#parts.store.setCodes(user, hashes))) throw noFactor();
    await this.#parts.activity.record('system.factor.codes-renewed', { user }, stamp);
    return codes;
  }

  /** Whether an account has a second factor in force. */
  async stands(user: string): Promise<boolean> {
    return (await this.#parts.store.find(user))?.since !== undefined;
  }

  /**
   * Checks a code: of the authenticator, or a recovery code. It is used up.
   * @throws MillraceError `sign-in-failed`, `rate-limited`
   */
  async prove(user: User, code: string, origin: SessionOrigin): Promise<void> {
    await this.#slowly(user, origin, async () => {
      const row = await this.#parts.store.find(user._id);
      return row !== null && this.#use(row, plain(code), origin);
    });
    // A program that stopped in the middle of a confirmation left the account without this.
    if (user.secondFactor !== true) await this.#told(user, stampOf(origin));
  }

  /** Makes the account, and the audit, say that there is a factor. */
  async #told({ _id }: User, stamp: Stamp): Promise<void> {
    await this.#parts.users.change(_id, { secondFactor: true }, stamp);
    await this.#parts.activity.record('system.factor.added', { user: _id, kind: 'totp' }, stamp);
  }

  async #use({ _id, sealed }: FactorRow, code: string, origin: SessionOrigin): Promise<boolean> {
    const { store, activity, now } = this.#parts;
    if (sealed === undefined) return false;
    if (TOTP_CODE.test(code)) {
      const step = stepOf(store.open(_id, sealed), code, now());
      return step !== null && store.take(_id, sealed, step);
    }
    const hash = hashRecoveryCode(code);
    const left = hash === null ? null : await store.takeCode(_id, hash);
    if (left === null) return false;
    await activity.record('system.factor.code-used', { user: _id, left: String(left) }, stampOf(origin));
    return true;
  }

  /** Runs the check of a code; wrong ones are slowed down, as wrong passwords are. */
  async #slowly({ _id }: User, origin: SessionOrigin, check: () => Promise<boolean>): Promise<void> {
    const { delays, activity } = this.#parts;
    const { address } = origin;
    const attempt = { under: underFactor(_id), account: _id, address };
    // One after the other: of many guesses at once, each finds the failures before it.
    const right = await this.#turn.run(async () => {
      await delays.pass(attempt);
      const right = await check();
      if (!right) await delays.failed(attempt);
      return right;
    });
    if (right) return delays.succeeded(attempt);
    const details = { user: _id, address, provider: null, reason: 'second factor' };
    await activity.record('system.auth.failed', details, stampOf(origin));
    throw wrongCode();
  }
}

/** Apps show `123 456`. */
function plain(code: string): string {
  return code.replace(/\s/g, '');
}

function factorExists(): MillraceError {
  return new MillraceError('factor-exists', 'The account has a second factor already', {
    hint: 'Remove it first: DELETE /auth/mfa/totp',
  });
}

function notBegun(): MillraceError {
  return new MillraceError('factor-not-begun', 'No second factor waits for its confirmation', {
    hint: 'Begin with POST /auth/mfa/totp; it waits for 30 minutes',
  });
}

function noFactor(): MillraceError {
  return new MillraceError('document-not-found', 'The account has no second factor');
}
