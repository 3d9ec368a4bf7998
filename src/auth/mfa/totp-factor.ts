/**
 * The second factor of a user: an authenticator app (TOTP), with recovery codes. Enrolls, verifies and removes it.
 * Seeds and codes are shown once, to their user.
 */

import { renderSVG } from 'uqr';
import type { AuditEvents } from '../../database/audit-only-events.ts';
import type { ChangeStamp } from '../../database/system-collection.ts';
import { Semaphore } from '../../lib/concurrency/semaphore.ts';
import { MillraceError } from '../../lib/errors.ts';
import { wrongMfaCode } from '../identity/auth-errors.ts';
import type { User } from '../identity/user.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { type LoginThrottle, mfaThrottleKey } from '../sign-in/login-throttle.ts';
import type { Users } from '../users/users.ts';
import type { FactorRow, FactorStore } from './factor-store.ts';
import { hashRecoveryCode, newRecoveryCodes } from './recovery-codes.ts';
import { generateTotpSeed, matchTotpStep, otpauthUrl } from './totp.ts';

/** How long a seed waits for its confirmation. */
const BEGUN_MS = 30 * 60_000;
/** Attempts that wait in a process; more are rejected. */
const WAITING = 256;
const TOTP_CODE = /^\d{6}$/;

export interface FactorsDeps {
  readonly store: FactorStore;
  readonly users: Users;
  readonly sessions: Pick<Sessions, 'endAll' | 'confirmOpen'>;
  readonly delays: LoginThrottle;
  readonly activity: AuditEvents;
  /** The public URL of this server. */
  readonly base: string;
  readonly now: () => number;
}

/** The response to the start of an enrollment. */
export interface FactorEnrollment {
  /** For an authenticator app. */
  readonly uri: string;
  /** The seed alone, for people who cannot scan the picture. */
  readonly secret: string;
  /** The same URL as a picture, SVG. */
  readonly qr: string;
}

export interface FactorView {
  /** Since when it is active; null for none. */
  readonly since: string | null;
  readonly recoveryCodes: number;
}

export class Factors {
  readonly #deps: FactorsDeps;
  readonly #turn = new Semaphore(1, WAITING);

  constructor(deps: FactorsDeps) {
    this.#deps = deps;
  }

  /** @throws MillraceError `mfa-already-enrolled` */
  async begin({ _id, email, username }: User): Promise<FactorEnrollment> {
    const { store, base, now } = this.#deps;
    const secret = generateTotpSeed();
    if (!(await store.begin(_id, store.encrypt(_id, secret), new Date(now())))) throw mfaAlreadyEnrolled();
    const uri = otpauthUrl(secret, new URL(base).hostname, email ?? username ?? _id);
    return { uri, secret, qr: renderQrCode(uri) };
  }

  /**
   * Activates the pending seed with one of its codes. Ends the other sessions of the user, which were opened without a
   * code.
   * @param session the session of the request
   * @returns the recovery codes
   * @throws MillraceError `mfa-already-enrolled`, `mfa-enrollment-not-started`, `invalid-credentials` for a wrong code,
   * `rate-limited`, `invalid-token` when the session has ended in the meantime
   */
  async confirm(
    user: User,
    session: string,
    code: string,
    origin: SessionOrigin,
    stamp: ChangeStamp,
  ): Promise<readonly string[]> {
    const { store, sessions, now } = this.#deps;
    const codes = newRecoveryCodes();
    const hashes = codes.flatMap((one) => hashRecoveryCode(one) ?? []);
    await this.#withThrottle(user, origin, async () => {
      const row = await store.find(user._id);
      if (row?.since !== undefined) throw mfaAlreadyEnrolled();
      const { begun } = row ?? {};
      if (begun === undefined || now() - begun.at.getTime() >= BEGUN_MS) throw notBegun();
      const step = matchTotpStep(store.open(user._id, begun.encrypted), plain(code), now());
      if (step === null) return false;
      if (await store.confirm(user._id, begun.encrypted, step, hashes, new Date(now()))) return true;
      throw notBegun();
    });
    await sessions.confirmOpen(session, () => store.removeAll(user._id));
    await sessions.endAll(user._id, 'factor-added', stamp, session);
    await this.#recordEnrollment(user, stamp);
    return codes;
  }

  /** The second factor of a user. */
  async shown(user: string): Promise<FactorView> {
    const row = await this.#deps.store.find(user);
    return { since: row?.since?.toISOString() ?? null, recoveryCodes: row?.codes?.length ?? 0 };
  }

  /** Removes the factor of an account. @throws MillraceError `mfa-not-enrolled` */
  async remove(user: string, stamp: ChangeStamp): Promise<void> {
    const { store, users, activity } = this.#deps;
    const removed = await store.removeAll(user);
    // A process that stopped in the middle of a removal left the flag in the user, which is now removed.
    if (!removed && (await users.get(user)).secondFactor !== true) throw noFactor();
    await users.change(user, { secondFactor: false }, stamp);
    await activity.record('system.mfa.removed', { user, kind: 'totp' }, stamp);
  }

  /** New recovery codes in the place of those before. @throws MillraceError `mfa-not-enrolled` */
  async renewCodes(user: string, stamp: ChangeStamp): Promise<readonly string[]> {
    const codes = newRecoveryCodes();
    const hashes = codes.flatMap((one) => hashRecoveryCode(one) ?? []);
    if (!(await this.#deps.store.setCodes(user, hashes))) throw noFactor();
    await this.#deps.activity.record('system.mfa.recovery-codes-regenerated', { user }, stamp);
    return codes;
  }

  /** Whether a user has an active second factor. */
  async hasFactor(user: string): Promise<boolean> {
    return (await this.#deps.store.find(user))?.since !== undefined;
  }

  /**
   * Verifies a code of the authenticator, or a recovery code, and uses it up.
   * @throws MillraceError `invalid-credentials`, `rate-limited`
   */
  async verifyCode(user: User, code: string, origin: SessionOrigin): Promise<void> {
    await this.#withThrottle(user, origin, async () => {
      const row = await this.#deps.store.find(user._id);
      return row !== null && this.#use(row, plain(code), origin);
    });
    // A process that stopped in the middle of a confirmation left the user without this flag.
    if (user.secondFactor !== true) await this.#recordEnrollment(user, changeStampFromOrigin(origin));
  }

  /** Records in the user, and in the audit log, that there is a factor. */
  async #recordEnrollment({ _id }: User, stamp: ChangeStamp): Promise<void> {
    await this.#deps.users.change(_id, { secondFactor: true }, stamp);
    await this.#deps.activity.record('system.mfa.added', { user: _id, kind: 'totp' }, stamp);
  }

  async #use({ _id, encrypted }: FactorRow, code: string, origin: SessionOrigin): Promise<boolean> {
    const { store, activity, now } = this.#deps;
    if (encrypted === undefined) return false;
    if (TOTP_CODE.test(code)) {
      const step = matchTotpStep(store.open(_id, encrypted), code, now());
      return step !== null && store.take(_id, encrypted, step);
    }
    const hash = hashRecoveryCode(code);
    const left = hash === null ? null : await store.useRecoveryCode(_id, hash);
    if (left === null) return false;
    await activity.record(
      'system.mfa.recovery-code-used',
      { user: _id, remaining: String(left) },
      changeStampFromOrigin(origin),
    );
    return true;
  }

  /** Runs the check of a code; wrong ones cause delays, as wrong passwords do. */
  async #withThrottle({ _id }: User, origin: SessionOrigin, check: () => Promise<boolean>): Promise<void> {
    const { delays, activity } = this.#deps;
    const { ip } = origin;
    const attempt = { throttleKey: mfaThrottleKey(_id), user: _id, ip };
    // One after the other: of parallel guesses, each sees the failures before it.
    const right = await this.#turn.run(async () => {
      await delays.checkAllowed(attempt);
      const right = await check();
      if (!right) await delays.failed(attempt);
      return right;
    });
    if (right) return delays.succeeded(attempt);
    const details = { user: _id, ip, provider: null, reason: 'second factor' };
    await activity.record('system.auth.failed', details, changeStampFromOrigin(origin));
    throw wrongMfaCode();
  }
}

/** Apps show `123 456`. */
function plain(code: string): string {
  return code.replace(/\s/g, '');
}

function mfaAlreadyEnrolled(): MillraceError {
  return new MillraceError('mfa-already-enrolled', 'The user already has a second factor', {
    hint: 'Remove it first: DELETE /auth/mfa/totp',
  });
}

function notBegun(): MillraceError {
  return new MillraceError('mfa-enrollment-not-started', 'No second factor waits for its confirmation', {
    hint: 'Start with POST /auth/mfa/totp; the enrollment is valid for 30 minutes',
  });
}

function noFactor(): MillraceError {
  return new MillraceError('mfa-not-enrolled', 'The user has no second factor');
}

/**
 * Draws a QR code as SVG, here and not by another server: it contains a seed.
 * @param text the content of the code; the picture contains it only as squares
 */
function renderQrCode(text: string): string {
  return renderSVG(text, { ecc: 'M', border: 4, pixelSize: 4 });
}
