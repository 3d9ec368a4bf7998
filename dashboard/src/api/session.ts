/**
 * The session of the person at the dashboard. The refresh token is in a cookie that no script can read; the access token is
 * only here, in memory. Pages ask for it through the client (client.ts).
 */
import { Problem, type ProblemDocument, type TokenSource } from '../../../client/client.ts';
import { withoutSession } from './without-session.ts';

/** What the server says before anybody has signed in. */
export interface Beginning {
  readonly signedIn: boolean;
  /** The pages can be used without an account: development mode with its first policy. */
  readonly open: boolean;
  readonly needsOwner: boolean;
  readonly mode: 'development' | 'production';
  readonly version: string;
}

/** `asked`: the page must show the sign-in. `open`: without an account. */
export type SessionState = 'beginning' | 'asked' | 'open' | 'signed-in';

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

/** A token is replaced this long before it ends, in milliseconds, so that a request on its way arrives in time. */
const EARLY_MS = 15_000;
const PATH = '/dashboard/session';

class DashboardSession {
  state: SessionState = 'beginning';
  beginning: Beginning | null = null;
  /** Counts sign-ins, so that what has ended with a session begins anew with the next. */
  turn = 0;
  #access: { readonly token: string; readonly until: number } | null = null;
  #renewing: Promise<void> | null = null;
  readonly #listeners = new Set<() => void>();

  /** Gives the token of each request to the client. */
  readonly source: TokenSource = async (refused) => {
    if (this.state === 'open') return null;
    if (this.state !== 'signed-in') throw new Problem(SIGNED_OUT);
    const isUsable = this.#access !== null && this.#access.token !== refused && this.#access.until > Date.now();
    if (!isUsable) await this.#renew();
    return this.#access?.token ?? null;
  };

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Finds out how the person can go on. Called once, before anything is drawn. */
  async begin(): Promise<void> {
    this.beginning = await ask<Beginning>('GET');
    if (this.beginning.signedIn && (await this.#tryRenew())) this.#become('signed-in');
    else this.#become(this.beginning.open ? 'open' : 'asked');
  }

  /** @throws Problem `mfa-required` with the ticket of the second step, `sign-in-failed`, `rate-limited` */
  async signIn(credentials: Credentials): Promise<void> {
    this.#take(await ask<Access>('POST', credentials));
    this.#become('signed-in');
  }

  async signOut(): Promise<void> {
    await ask('DELETE').catch(() => undefined);
    this.#access = null;
    this.#become(this.beginning?.open === true ? 'open' : 'asked');
  }

  /** Says that the server has ended the session, so that the sign-in is shown over the page. */
  ended(): void {
    if (this.state !== 'signed-in') return;
    this.#access = null;
    this.#become('asked');
  }

  async #tryRenew(): Promise<boolean> {
    try {
      this.#take(await ask<Access>('PUT'));
      return true;
    } catch {
      return false;
    }
  }

  /** Calls at the same time share one request. Only a refusal by the server ends the session, not a lost network. */
  async #renew(): Promise<void> {
    this.#renewing ??= ask<Access>('PUT')
      .then((access) => this.#take(access))
      .catch((error: unknown) => {
        if (error instanceof Problem && error.status === 401) this.ended();
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
    if (state !== 'asked') this.turn += 1;
    this.state = state;
    for (const listener of this.#listeners) listener();
  }
}

const SIGNED_OUT: ProblemDocument = { status: 401, code: 'not-authenticated', title: 'Sign in to go on' };

/** The cookie goes along, as with every request of the page. */
async function ask<T>(method: string, body?: object): Promise<T> {
  return (await withoutSession.request(method, PATH, { body })).body as T;
}

export const session = new DashboardSession();
