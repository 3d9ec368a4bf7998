/**
 * Signs in by a letter: by its link, in the browser that asked for it, or by its code, wherever that is typed. A request is
 * stored before it is answered and its account is looked for later, so neither the answer nor its time shows whether an
 * address has an account. The letter proves the address; the second factor is asked for as after a password. Not here: HTTP
 * (http/links/), and sending (letters/outbox.ts).
 */
import { createHmac, randomBytes, randomInt } from 'node:crypto';
import type { Activity } from '../../database/activity.ts';
import { actorText } from '../../database/system-collection.ts';
import { networkOf } from '../../kernel/config/addresses.ts';
import type { Users } from '../accounts/users.ts';
import { hashOf, isHashOf, isVerifierOf } from '../flows/flow.ts';
import { foreignBrowser, linkUnusable, wrongLetterCode } from '../identity/refusals.ts';
import { foldName, isAddressOf, isUnproven, type User } from '../identity/user.ts';
import type { LanguageName } from '../letters/languages/languages.ts';
import type { Composed, Outbox } from '../letters/outbox.ts';
import type { LetterRow } from '../letters/outbox-store.ts';
import type { SecondStep } from '../sign-in/second-step.ts';
import type { SignedIn, SignIn } from '../sign-in/sign-in.ts';
import { type SignInDelays, underNetwork } from '../sign-in/sign-in-delays.ts';
import type { SingleUse } from '../sign-in/single-use.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { Sessions } from '../tokens/sessions.ts';
import type { LinkRow, LinkStore } from './link-store.ts';

/** How long a link and its code work, in milliseconds. */
const LINK_MS = 15 * 60_000;
/** One letter to an address within this time for each network that asks, in milliseconds. */
const LETTER_MS = 60_000;
/** Letters to an address in an hour, whoever asks for them. Networks that the account has a session from go beyond. */
const HOURLY = 10;
const HOUR_MS = 3_600_000;
/** How often the code of one letter may be tried. */
const CODE_TRIES = 5;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** What binds a link to whoever asked for it. */
export type LinkBinding =
  | { readonly browser: string; readonly challenge: null }
  | { readonly browser: null; readonly challenge: string };

/** What a client shows when it uses a link. */
export interface LinkProof {
  /** The secret of the cookie. */
  readonly browser: string | null;
  /** The verifier of an app. */
  readonly verifier: string | null;
}

export interface LinkSignInParts {
  readonly store: LinkStore;
  readonly users: Users;
  readonly outbox: Outbox;
  readonly singleUse: Pick<SingleUse, 'isFirst'>;
  readonly sessions: Pick<Sessions, 'openedFrom'>;
  readonly delays: SignInDelays;
  readonly secondStep: SecondStep;
  readonly signIn: SignIn;
  readonly activity: Activity;
  /** Key that codes are hashed with: they are too short for a hash that anybody can make. */
  readonly codeKey: Buffer;
  /** Whether it is switched on, and mail can be sent. */
  readonly isOn: boolean;
  /** Where people reach this server. */
  readonly base: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class LinkSignIn {
  readonly #parts: LinkSignInParts;

  constructor(parts: LinkSignInParts) {
    this.#parts = parts;
    parts.outbox.compose('sign-in-link', (row) => this.#letter(row));
  }

  /** Whether people can sign in by a letter here. */
  get isOn(): boolean {
    return this.#parts.isOn;
  }

  /**
   * Asks for a letter to an address. What it does is the same whether an account has the address.
   * @param page that the link opens
   * @throws MillraceError `rate-limited` while the network has to wait, `overloaded`
   */
  async request(
    email: string,
    page: string,
    { browser, challenge }: LinkBinding,
    language: LanguageName | null,
    { address }: SessionOrigin,
  ): Promise<void> {
    const network = networkOf(address);
    await this.#parts.delays.pass({ under: underNetwork(network), account: null, address });
    const binding = { browser: browser === null ? null : hashOf(browser), challenge };
    await this.#parts.outbox.add({
      kind: 'sign-in-link',
      to: email,
      facts: { email, page, network, ...binding },
      language,
    });
  }

  /**
   * Signs in by the link. In another browser nothing is used up.
   * @throws MillraceError `link-unusable`, `mfa-required`, `rate-limited`
   */
  async enter(token: string, { browser, verifier }: LinkProof, origin: SessionOrigin): Promise<SignedIn> {
    const { store, delays, now } = this.#parts;
    const { address } = origin;
    const attempt = { under: underNetwork(networkOf(address)), account: null, address };
    await delays.pass(attempt);
    const row = TOKEN.test(token) ? await store.findByToken(hashOf(token), new Date(now())) : null;
    if (row === null) {
      await delays.failed(attempt);
      throw linkUnusable();
    }
    const byCookie = row.browser !== null && browser !== null && isHashOf(row.browser, browser);
    const byVerifier = row.challenge !== null && verifier !== null && isVerifierOf(row.challenge, verifier);
    if (!byCookie && !byVerifier) throw foreignBrowser();
    const user = await this.#use(row);
    if (user === null) throw linkUnusable();
    return this.#open(user, row.email, origin);
  }

  /**
   * Signs in by the code of a letter.
   * @throws MillraceError `sign-in-failed` for every cause, `mfa-required`, `rate-limited`
   */
  async enterByCode(email: string, code: string, origin: SessionOrigin): Promise<SignedIn> {
    const { store, delays, activity, now } = this.#parts;
    const { address } = origin;
    const id = hashOf(foldName(email));
    const attempt = { under: `code:${id}`, account: null, address };
    await delays.pass(attempt);
    // Counted before it is compared: of many guesses at once, no more than these are.
    const row = await store.tryCode(id, CODE_TRIES, new Date(now()));
    const isRight = isHashOf(row?.code ?? '', this.#keyed(id, code));
    const user = row !== null && isRight ? await this.#use(row) : null;
    if (row === null || user === null) {
      await delays.failed(attempt);
      const details = { user: row?.user ?? null, address, provider: null, reason: 'code of a letter' };
      await activity.record('system.auth.failed', details, stampOf(origin));
      throw wrongLetterCode();
    }
    await delays.succeeded(attempt);
    return this.#open(user, row.email, origin);
  }

  /** Uses a link up; null when another request was faster, or its account cannot be signed in to with it any more. */
  async #use(row: LinkRow): Promise<User | null> {
    const { store, users } = this.#parts;
    if (!(await store.take(row))) return null;
    const user = await users.find(row.user);
    return user !== null && !user.disabled && isAddressOf(user, row.email) ? user : null;
  }

  async #open(user: User, email: string, origin: SessionOrigin): Promise<SignedIn> {
    const { users, secondStep, signIn } = this.#parts;
    const prove = () => users.proveAddress(user, stampOf(origin, actorText(user.kind, user._id)));
    // A factor that was enrolled before the address was proven ends with the proof. Any other one is required first, and then
    // the address counts as proven.
    if (isUnproven(user)) await prove();
    if (await secondStep.stands(user._id)) throw await secondStep.question(user, { email });
    const proved = await prove();
    return signIn.welcome(proved, origin, { holds: (one) => !one.disabled && isAddressOf(one, email) });
  }

  /** Makes the link and the code of a letter. */
  async #letter({ _id: letter, facts, madeAt, tries }: LetterRow): Promise<Composed | null> {
    const { users, store, now } = this.#parts;
    const { email = null, page = null, network = null, browser = null, challenge = null } = facts ?? {};
    if (email === null || page === null || network === null) return null;
    const user = await users.byName(foldName(email));
    if (user?.email == null || user.disabled || !isAddressOf(user, email)) return null;
    if (tries === 1 && !(await this.#mayBeSent(user, email, network, letter))) return null;
    const id = hashOf(foldName(email));
    const token = randomBytes(32).toString('base64url');
    const code = String(randomInt(100_000_000)).padStart(8, '0');
    const isNewest = await store.replace({
      _id: id,
      user: user._id,
      email: user.email,
      token: hashOf(token),
      code: hashOf(this.#keyed(id, code)),
      codeTries: 0,
      browser,
      challenge,
      askedAt: madeAt,
      expiresAt: new Date(now() + LINK_MS),
    });
    if (!isNewest) return null;
    const values = { link: `${page}#${token}`, code: `${code.slice(0, 4)} ${code.slice(4)}` };
    return { user, to: user.email, values };
  }

  async #mayBeSent({ _id }: User, email: string, network: string, letter: string): Promise<boolean> {
    const { singleUse, sessions, outbox } = this.#parts;
    if (!(await singleUse.isFirst(`link ${foldName(email)} ${network}`, LETTER_MS))) return false;
    if ((await outbox.countLast(HOUR_MS, email, 'sign-in-link', letter)) < HOURLY) return true;
    return sessions.openedFrom(_id, network);
  }

  /** @param code as it was typed */
  #keyed(id: string, code: string): string {
    const digits = code.replace(/[\s-]/g, '');
    return createHmac('sha256', this.#parts.codeKey).update(`${id} ${digits}`).digest('base64url');
  }
}
