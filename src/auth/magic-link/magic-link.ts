/**
 * Sign-in by e-mail: with a magic link, in the browser that requested it, or with its code, in any. A request is stored
 * before the response and its user is looked up later, so neither the response nor its time shows whether an e-mail
 * address has a user. The e-mail proves the address; the second factor is required as after a password.
 */
import { createHmac, randomBytes, randomInt } from 'node:crypto';
import { clientNetwork } from '../../config/addresses.ts';
import type { AuditEvents } from '../../database/audit-only-events.ts';
import { actorText } from '../../database/system-collection.ts';
import type { LanguageCode } from '../../email/locales/locales.ts';
import type { EmailRow, Outbox, UnrenderedEmail } from '../../email/outbox.ts';
import { linkExpired, wrongBrowser, wrongEmailCode } from '../identity/auth-errors.ts';
import { isUnverifiedSignUp, normalizeSignInName, type User, userHasEmail } from '../identity/user.ts';
import { matchesPkceChallenge, matchesSha256, sha256Base64url } from '../oauth/pending-provider-sign-in.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { type LoginThrottle, networkThrottleKey } from '../sign-in/login-throttle.ts';
import type { MfaGate } from '../sign-in/mfa-gate.ts';
import type { SignIn, SignInResult } from '../sign-in/sign-in.ts';
import type { OneTimeTokens } from '../tokens/one-time-tokens.ts';
import type { Users } from '../users/users.ts';
import type { MagicLinkRow, MagicLinkStore } from './magic-link-store.ts';

/** How long a link and its code are valid, in milliseconds. */
const LINK_MS = 15 * 60_000;
/** Minimum interval between e-mails to an address for each requesting network, in milliseconds. */
const EMAIL_MS = 60_000;
/** E-mails to an address in an hour, from all networks. Networks from which the user has a session may exceed it. */
const HOURLY = 10;
const HOUR_MS = 3_600_000;
/** Attempts with the code of one e-mail. */
const CODE_ATTEMPTS = 5;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** What binds a link to its requester. */
export type MagicLinkBinding =
  | { readonly browser: string; readonly challenge: null }
  | { readonly browser: null; readonly challenge: string };

/** What a client presents when it uses a link. */
export interface MagicLinkProof {
  /** The secret of the cookie. */
  readonly browser: string | null;
  /** The verifier of an app. */
  readonly verifier: string | null;
}

export interface MagicLinkSignInDeps {
  readonly store: MagicLinkStore;
  readonly users: Users;
  readonly outbox: Outbox;
  readonly oneTimeTokens: Pick<OneTimeTokens, 'isFirst'>;
  readonly sessions: Pick<Sessions, 'openedFrom'>;
  readonly delays: LoginThrottle;
  readonly mfaGate: MfaGate;
  readonly signIn: SignIn;
  readonly activity: AuditEvents;
  /** Key for hashing codes: they are too short for an unkeyed hash. */
  readonly codeKey: Buffer;
  /** Whether it is enabled, and e-mails can be sent. */
  readonly isOn: boolean;
  /** The public URL of this server. */
  readonly base: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class MagicLinkSignIn {
  readonly #deps: MagicLinkSignInDeps;

  constructor(deps: MagicLinkSignInDeps) {
    this.#deps = deps;
    deps.outbox.registerComposer('magic-link', (row) => this.#email(row));
  }

  /** Whether magic links are available here. */
  get isOn(): boolean {
    return this.#deps.isOn;
  }

  /**
   * Requests an e-mail to an address. The work is the same whether or not a user has the address.
   * @param page that the link opens
   * @throws MillraceError `rate-limited` while the network has to wait, `overloaded`
   */
  async request(
    email: string,
    page: string,
    { browser, challenge }: MagicLinkBinding,
    language: LanguageCode | null,
    { ip }: SessionOrigin,
  ): Promise<void> {
    const network = clientNetwork(ip);
    await this.#deps.delays.checkAllowed({ throttleKey: networkThrottleKey(network), user: null, ip });
    const binding = { browser: browser === null ? null : sha256Base64url(browser), challenge };
    await this.#deps.outbox.add({
      kind: 'magic-link',
      to: email,
      facts: { email, page, network, ...binding },
      language,
    });
  }

  /**
   * Signs in with the link. In another browser nothing is used up.
   * @throws MillraceError `link-expired`, `mfa-required`, `rate-limited`
   */
  async verifyLink(token: string, { browser, verifier }: MagicLinkProof, origin: SessionOrigin): Promise<SignInResult> {
    const { store, delays, now } = this.#deps;
    const { ip } = origin;
    const attempt = { throttleKey: networkThrottleKey(clientNetwork(ip)), user: null, ip };
    await delays.checkAllowed(attempt);
    const row = TOKEN.test(token) ? await store.findByToken(sha256Base64url(token), new Date(now())) : null;
    if (row === null) {
      await delays.failed(attempt);
      throw linkExpired();
    }
    const byCookie = row.browser !== null && browser !== null && matchesSha256(row.browser, browser);
    const byVerifier = row.challenge !== null && verifier !== null && matchesPkceChallenge(row.challenge, verifier);
    if (!byCookie && !byVerifier) throw wrongBrowser();
    const user = await this.#use(row);
    if (user === null) throw linkExpired();
    return this.#open(user, row.email, origin);
  }

  /**
   * Signs in with the code of an e-mail.
   * @throws MillraceError `invalid-credentials` for every cause, `mfa-required`, `rate-limited`
   */
  async verifyOtp(email: string, code: string, origin: SessionOrigin): Promise<SignInResult> {
    const { store, delays, activity, now } = this.#deps;
    const { ip } = origin;
    const id = sha256Base64url(normalizeSignInName(email));
    const attempt = { throttleKey: `code:${id}`, user: null, ip };
    await delays.checkAllowed(attempt);
    // Counted before it is compared, so that parallel guesses cannot exceed the limit.
    const row = await store.tryCode(id, CODE_ATTEMPTS, new Date(now()));
    const isRight = matchesSha256(row?.code ?? '', this.#hashCode(id, code));
    const user = row !== null && isRight ? await this.#use(row) : null;
    if (row === null || user === null) {
      await delays.failed(attempt);
      const details = { user: row?.user ?? null, ip, provider: null, reason: 'code of an e-mail' };
      await activity.record('system.auth.failed', details, changeStampFromOrigin(origin));
      throw wrongEmailCode();
    }
    await delays.succeeded(attempt);
    return this.#open(user, row.email, origin);
  }

  /** Uses a link up; null when another request was faster, or it no longer signs in to its user. */
  async #use(row: MagicLinkRow): Promise<User | null> {
    const { store, users } = this.#deps;
    if (!(await store.take(row))) return null;
    const user = await users.find(row.user);
    return user !== null && !user.disabled && userHasEmail(user, row.email) ? user : null;
  }

  async #open(user: User, email: string, origin: SessionOrigin): Promise<SignInResult> {
    const { users, mfaGate, signIn } = this.#deps;
    const prove = () => users.markEmailVerified(user, changeStampFromOrigin(origin, actorText(user.kind, user._id)));
    // A factor that was enrolled before the address was verified ends with the verification. Any other one is required
    // first, and then the address counts as verified.
    if (isUnverifiedSignUp(user)) await prove();
    if (await mfaGate.hasFactor(user._id)) throw await mfaGate.challenge(user, { email });
    const verified = await prove();
    return signIn.openSession(verified, origin, { isStillValid: (one) => !one.disabled && userHasEmail(one, email) });
  }

  /** Creates the link and the code of an e-mail. */
  async #email({ _id: message, facts, createdAt, attempts }: EmailRow): Promise<UnrenderedEmail | null> {
    const { users, store, now } = this.#deps;
    const { email = null, page = null, network = null, browser = null, challenge = null } = facts ?? {};
    if (email === null || page === null || network === null) return null;
    const user = await users.byName(normalizeSignInName(email));
    if (user?.email == null || user.disabled || !userHasEmail(user, email)) return null;
    if (attempts === 1 && !(await this.#mayBeSent(user, email, network, message))) return null;
    const id = sha256Base64url(normalizeSignInName(email));
    const token = randomBytes(32).toString('base64url');
    const code = String(randomInt(100_000_000)).padStart(8, '0');
    const isNewest = await store.replace({
      _id: id,
      user: user._id,
      email: user.email,
      token: sha256Base64url(token),
      code: sha256Base64url(this.#hashCode(id, code)),
      codeAttempts: 0,
      browser,
      challenge,
      requestedAt: createdAt,
      expiresAt: new Date(now() + LINK_MS),
    });
    if (!isNewest) return null;
    const values = { link: `${page}#${token}`, code: `${code.slice(0, 4)} ${code.slice(4)}` };
    return { user, to: user.email, values };
  }

  async #mayBeSent({ _id }: User, email: string, network: string, message: string): Promise<boolean> {
    const { oneTimeTokens, sessions, outbox } = this.#deps;
    if (!(await oneTimeTokens.isFirst(`link ${normalizeSignInName(email)} ${network}`, EMAIL_MS))) return false;
    if ((await outbox.countLast(HOUR_MS, email, 'magic-link', message)) < HOURLY) return true;
    return sessions.openedFrom(_id, network);
  }

  /** @param code as it was typed */
  #hashCode(id: string, code: string): string {
    const digits = code.replace(/[\s-]/g, '');
    return createHmac('sha256', this.#deps.codeKey).update(`${id} ${digits}`).digest('base64url');
  }
}
