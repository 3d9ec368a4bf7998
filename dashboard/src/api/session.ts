/**
 * The user's session in the dashboard. The refresh token is in a cookie that no script can read; the access token is
 * only here, in memory. Pages use it through the client (client.ts).
 */
import { MillraceError, type ProblemDocument, type TokenSource } from '../../../client/client.ts';
import { withoutSession } from './without-session.ts';

/** What the server reports before sign-in. */
export interface Beginning {
  readonly signedIn: boolean;
  /** The pages can be used without sign-in: development mode with its first policy. */
  readonly open: boolean;
  readonly needsAdmin: boolean;
  readonly mode: 'development' | 'production';
  readonly version: string;
}

/** `signed-out`: the page must show the sign-in. `open`: without sign-in. */
export type SessionState = 'beginning' | 'signed-out' | 'open' | 'signed-in';

export type Credentials =
  | { readonly username: string; readonly password: string }
  | { readonly code: string; readonly codeVerifier: string }
  | { readonly credential: object }
  | { readonly linkToken: string }
  | { readonly email: string; readonly code: string }
  | { readonly ticket: string; readonly code: string }
  | { readonly ticket: string; readonly credential: object };

interface Access {
  readonly accessToken: string;
  /** Seconds. */
  readonly expiresIn: number;
}

/** A token is replaced this long before it expires, in milliseconds, so that a request on its way arrives in time. */
const EARLY_MS = 15_000;
const PATH = '/dashboard/session';

class DashboardSession {
  state: SessionState = 'beginning';
  beginning: Beginning | null = null;
  /** Counts sign-ins, so that what ended with a session starts again with the next. */
  turn = 0;
  #access: { readonly token: string; readonly until: number } | null = null;
  #renewing: Promise<void> | null = null;
  readonly #listeners = new Set<() => void>();

  /** Provides the client with the token of each request. */
  readonly source: TokenSource = async (refused) => {
    if (this.state === 'open') return null;
    if (this.state !== 'signed-in') throw new MillraceError(SIGNED_OUT);
    const isUsable = this.#access !== null && this.#access.token !== refused && this.#access.until > Date.now();
    if (!isUsable) await this.#renew();
    return this.#access?.token ?? null;
  };

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Determines how the user can continue. Called once, before anything is drawn. */
  async begin(): Promise<void> {
    this.beginning = await request<Beginning>('GET');
    if (this.beginning.signedIn && (await this.#tryRenew())) this.#become('signed-in');
    else this.#become(this.beginning.open ? 'open' : 'signed-out');
  }

  /** @throws MillraceError `mfa-required` with the ticket of the second step, `invalid-credentials`, `rate-limited` */
  async signIn(credentials: Credentials): Promise<void> {
    this.#take(await request<Access>('POST', credentials));
    this.#become('signed-in');
  }

  async signOut(): Promise<void> {
    await request('DELETE').catch(() => undefined);
    this.#access = null;
    this.#become(this.beginning?.open === true ? 'open' : 'signed-out');
  }

  /** Reports that the server has ended the session, so that the sign-in covers the page. */
  ended(): void {
    if (this.state !== 'signed-in') return;
    this.#access = null;
    this.#become('signed-out');
  }

  async #tryRenew(): Promise<boolean> {
    try {
      this.#take(await request<Access>('PUT'));
      return true;
    } catch {
      return false;
    }
  }

  /** Concurrent calls share one request. Only an error of the server ends the session, not a lost network. */
  async #renew(): Promise<void> {
    this.#renewing ??= request<Access>('PUT')
      .then((access) => this.#take(access))
      .catch((error: unknown) => {
        if (error instanceof MillraceError && error.status === 401) this.ended();
        throw error;
      })
      .finally(() => {
        this.#renewing = null;
      });
    await this.#renewing;
  }

  #take({ accessToken, expiresIn }: Access): void {
    this.#access = { token: accessToken, until: Date.now() + expiresIn * 1_000 - EARLY_MS };
  }

  #become(state: SessionState): void {
    if (state !== 'signed-out') this.turn += 1;
    this.state = state;
    for (const listener of this.#listeners) listener();
  }
}

const SIGNED_OUT: ProblemDocument = { status: 401, code: 'not-authenticated', title: 'Sign in to continue' };

/** The cookie is sent along, as with every request of the page. */
async function request<T>(method: string, body?: object): Promise<T> {
  return (await withoutSession.request(method, PATH, { body })).body as T;
}

export const session = new DashboardSession();
