/**
 * Sign-in by a provider, and linking an identity to the user: the browser goes to the provider and comes back to
 * `/dashboard` with a one-time code, which works only with this tab's verifier (RFC 7636).
 */
import { MillraceError } from '../../../client/client.ts';
import { createSignInUrl, readSignInCallback } from '../../../client/sign-in.ts';
import { request } from './client.ts';
import { DASHBOARD, SERVER } from './server.ts';
import { session } from './session.ts';
import { withoutSession } from './without-session.ts';

export interface UsableProvider {
  readonly name: string;
  readonly title: string;
  /** Where a sign-in starts. Its origin is the only one at which a sign-in of this page can end. */
  readonly url: string;
}

/** What to do when the browser is back. */
interface Leaving {
  /** The open page. */
  readonly page: string;
  /** Links the identity to the signed-in user, and opens no session. */
  readonly join: boolean;
}

const LEAVING = 'millrace-dashboard-leaving';
const REDIRECT = `${SERVER}/dashboard`;

/** Outcome of the last round trip to a provider: null before, and after a success. */
export const returned: { problem: MillraceError | null; joined: boolean } = { problem: null, joined: false };

export interface WaysIn {
  /** Whether magic links are enabled. */
  readonly magicLink: boolean;
  readonly providers: readonly UsableProvider[];
}

/** The sign-in methods besides a password. */
export async function waysIn(): Promise<WaysIn> {
  return (await withoutSession.request('GET', '/auth/providers')).body as WaysIn;
}

/** Redirects the page to the provider. */
export async function signInBy(provider: string): Promise<void> {
  const address = await createSignInUrl(SERVER, provider, REDIRECT, sessionStorage);
  leave(address, false);
}

/** Leaves the page for the provider, to link the identity there to the signed-in user. */
export async function linkProvider(provider: string): Promise<void> {
  const { searchParams } = new URL(await createSignInUrl(SERVER, provider, REDIRECT, sessionStorage));
  const body = {
    redirect: REDIRECT,
    codeChallenge: searchParams.get('code_challenge'),
    state: searchParams.get('state'),
  };
  const begun = await request<{ readonly url: string }>('POST', `/auth/identities/${provider}`, { body });
  leave(begun.body.url, true);
}

/**
 * Completes what began before the page was left. Called once, before anything is drawn, when it is known whether there
 * is a session. Parameters that this tab did not request are ignored.
 */
export async function comeBack(): Promise<void> {
  const kept = sessionStorage.getItem(LEAVING);
  if (kept === null || location.pathname !== DASHBOARD) return;
  sessionStorage.removeItem(LEAVING);
  const { page, join } = JSON.parse(kept) as Leaving;
  const address = location.href;
  history.replaceState(null, '', page);
  try {
    const ending = readSignInCallback(address, sessionStorage);
    if (ending === null) return;
    if (join) await request('POST', '/auth/identities', { body: ending });
    else await session.signIn(ending);
    returned.joined = join;
  } catch (error) {
    returned.problem = error instanceof MillraceError ? error : null;
  }
}

function leave(address: string, join: boolean): void {
  const leaving: Leaving = { page: `${location.pathname}${location.search}`, join };
  sessionStorage.setItem(LEAVING, JSON.stringify(leaving));
  location.assign(address);
}
