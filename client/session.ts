/**
 * The session of the signed-in user: the access token for requests and sockets, and the refresh token for the next one. Requests
 * with an expired access token share one refresh. After a session has ended elsewhere, requests fail: they are not sent without a
 * credential instead.
 */
import { MillraceError, readResponse } from './problem.ts';

export interface User {
  readonly id: string;
  readonly [field: string]: unknown;
}

/**
 * The part of a session that outlives a page or a process. Give a store to `createClient` to stay signed in; pages may share one.
 */
export interface SavedSession {
  readonly refreshToken: string;
  readonly user: User;
}

export interface SessionStore {
  load(): SavedSession | null;
  save(session: SavedSession | null): void;
}

/**
 * Returns the credential to send; null for none.
 * @param refused a token that the server has rejected or that expires soon: another one is needed. Null if any will do
 */
export type TokenSource = (refused: string | null) => Promise<string | null>;

interface Tokens {
  readonly accessToken: string;
  /** Seconds. */
  readonly expiresIn: number;
  readonly refreshToken: string;
  readonly user: User;
}

/** A token is replaced this long before it expires, so that a request in flight arrives in time. */
const EARLY_MS = 15_000;
/** The same as a share of the token's validity, for tokens that are valid only briefly. */
const EARLY_PART = 0.25;

export class Session {
  readonly #base: string;
  readonly #store: SessionStore | null;
  readonly #listeners = new Set<() => void>();
  /** A token given from outside, such as an API key, is never refreshed; a function is called for each. */
  readonly #fixed: string | TokenSource | null;
  /** The last token that the function returned. */
  #given: string | null = null;
  #saved: SavedSession | null;
  /** Why the session ended without `signOut`; null again after the next sign-in or sign-out. */
  #ended: MillraceError | null = null;
  /** The access token, and until when it is sent, in milliseconds since 1970. */
  #access: { readonly token: string; readonly until: number } | null = null;
  #refreshing: Promise<void> | null = null;

  constructor(base: string, fixed: string | TokenSource | null, store: SessionStore | null) {
    this.#base = base;
    this.#fixed = fixed;
    this.#store = store;
    this.#saved = store?.load() ?? null;
  }

  get user(): User | null {
    return this.#saved?.user ?? null;
  }

  /** Why all requests fail until the next sign-in or sign-out; null if they do not. */
  get ended(): MillraceError | null {
    return this.#ended;
  }

  /** Whether a rejected token can be replaced by a new one. */
  get renewable(): boolean {
    return typeof this.#fixed === 'function' || (this.#fixed === null && this.#saved !== null);
  }

  /** Calls the listener at every sign-in and sign-out, and when the session ends elsewhere. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /**
   * The token to send, refreshed when it is about to end; null when nobody is signed in.
   * @throws MillraceError that the session has ended elsewhere: a user's request is never sent without a credential
   */
  async token(): Promise<string | null> {
    if (typeof this.#fixed === 'string') return this.#fixed;
    if (this.#fixed !== null) return await this.#request(this.#fixed, null);
    if (this.#ended !== null) throw this.#ended;
    if (this.#saved === null) return null;
    if (this.#refreshing !== null || this.#access === null || this.#access.until < Date.now()) await this.refresh();
    if (this.#access === null) throw this.#ended ?? over('You signed out before the request was sent');
    return this.#access.token;
  }

  /**
   * Gets a new access token; concurrent calls share one request. Ends the session if the server says that it has ended.
   * @param refused the token that was rejected: nothing is done if there already is another one
   */
  async refresh(refused: string | null = null): Promise<void> {
    if (typeof this.#fixed === 'function') {
      await this.#request(this.#fixed, refused ?? this.#given);
      return;
    }
    if (refused !== null && this.#access !== null && this.#access.token !== refused) return;
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    return await this.#refreshing;
  }

  async signIn(username: string, password: string): Promise<User> {
    const tokens = await this.#post('login', { username, password });
    this.#take(tokens);
    this.#report();
    return tokens.user;
  }

  /** @param ending the end of a sign-in with a provider */
  async exchange(ending: { readonly code: string; readonly codeVerifier: string }): Promise<User> {
    const tokens = await this.#post('exchange', ending);
    this.#take(tokens);
    this.#report();
    return tokens.user;
  }

  /** @param proof the body of `POST /auth/magic-link/verify` */
  async enterByEmail(proof: object): Promise<User> {
    const tokens = await this.#post('link/confirm', proof);
    this.#take(tokens);
    this.#report();
    return tokens.user;
  }

  async register(account: Readonly<Record<string, unknown>>): Promise<User> {
    const tokens = await this.#post('register', account);
    this.#take(tokens);
    this.#report();
    return tokens.user;
  }

  /** Deletes the session here and ends it on the server. Also deletes a session that has ended elsewhere. */
  async signOut(): Promise<void> {
    const token = await this.token().catch(() => null);
    this.#forget(null);
    if (token === null || this.#fixed !== null) return;
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${this.#base}/auth/logout`, { method: 'POST', headers });
    await response.body?.cancel();
  }

  async #request(source: TokenSource, refused: string | null): Promise<string | null> {
    this.#given = await source(refused);
    return this.#given;
  }

  async #refresh(): Promise<void> {
    const before = this.user;
    const saved = this.#newest();
    if (saved === null) return;
    try {
      const tokens = await this.#post('refresh', { refreshToken: saved.refreshToken });
      // After a sign-in or sign-out meanwhile, the response to the older request must not undo it.
      if (this.#saved !== saved) return;
      this.#take(tokens, saved);
    } catch (error) {
      if (this.#saved !== saved) return;
      // Only a rejection by the server ends a session; a lost network does not.
      if (error instanceof MillraceError && error.status === 401) this.#forget(error);
      throw error;
    }
    if (this.user?.id !== before?.id) this.#report();
  }

  /**
   * Reads the store again: another page with the same store may have refreshed or ended the session, and a refresh token works
   * once.
   */
  #newest(): SavedSession | null {
    if (this.#saved === null || this.#store === null) return this.#saved;
    const kept = this.#store.load();
    if (kept === null) this.#forget(over('The session was ended on another page'));
    else if (kept.refreshToken !== this.#saved.refreshToken) this.#saved = kept;
    return this.#saved;
  }

  #take(tokens: Tokens, before: SavedSession | null = null): void {
    const lifeMs = tokens.expiresIn * 1000;
    const early = Math.min(EARLY_MS, lifeMs * EARLY_PART);
    this.#access = { token: tokens.accessToken, until: Date.now() + lifeMs - early };
    this.#saved = { refreshToken: tokens.refreshToken, user: tokens.user ?? before?.user };
    this.#ended = null;
    this.#store?.save(this.#saved);
  }

  /** @param ended why the session ended; null after `signOut` */
  #forget(ended: MillraceError | null): void {
    this.#access = null;
    this.#saved = null;
    this.#ended = ended;
    this.#store?.save(null);
    this.#report();
  }

  #report(): void {
    for (const listener of this.#listeners) listener();
  }

  async #post(door: string, body: object): Promise<Tokens> {
    const response = await fetch(`${this.#base}/auth/${door}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await readResponse(response)).body as Tokens;
  }
}

function over(title: string): MillraceError {
  return new MillraceError({ status: 401, code: 'invalid-token', title, hint: 'Sign in again' });
}
