/**
 * Signing in by a provider, and joining one to the account: the browser goes to the provider and comes back to `/dashboard`
 * with a code that works once, and with the verifier of this tab only (RFC 7636).
 */
import { Problem } from '../../../client/client.ts';
import { beginningOf, endingOf } from '../../../client/sign-in.ts';
import { request } from './client.ts';
import { DASHBOARD, SERVER } from './server.ts';
import { session } from './session.ts';
import { withoutSession } from './without-session.ts';

export interface UsableProvider {
  readonly name: string;
  readonly title: string;
  /** Where a sign-in begins. Its origin is the only one that a sign-in of this page can end at. */
  readonly address: string;
}

/** What is to be done when the browser is back. */
interface Leaving {
  /** The page that was open. */
  readonly page: string;
  /** The sign-in is to be joined to the account of the person, and opens no session. */
  readonly join: boolean;
}

const LEAVING = 'millrace-dashboard-leaving';
const REDIRECT = `${SERVER}/dashboard`;

/** What came of the last way to a provider: null before, and when it went well. */
export const returned: { problem: Problem | null; joined: boolean } = { problem: null, joined: false };

export interface WaysIn {
  /** Whether a letter signs in. */
  readonly link: boolean;
  readonly providers: readonly UsableProvider[];
}

/** The ways to sign in besides a password. */
export async function waysIn(): Promise<WaysIn> {
  return (await withoutSession.request('GET', '/auth/providers')).body as WaysIn;
}

/** Leaves the page for the provider. */
export async function signInBy(provider: string): Promise<void> {
  const address = await beginningOf(SERVER, provider, REDIRECT, sessionStorage);
  leave(address, false);
}

/** Leaves the page for the provider, to join its account there to the account of the person here. */
export async function joinProvider(provider: string): Promise<void> {
  const { searchParams } = new URL(await beginningOf(SERVER, provider, REDIRECT, sessionStorage));
  const body = {
    redirect: REDIRECT,
    codeChallenge: searchParams.get('code_challenge'),
    state: searchParams.get('state'),
  };
  const begun = await request<{ readonly address: string }>('POST', `/auth/identities/${provider}`, { body });
  leave(begun.body.address, true);
}

/**
 * Ends what began before the page was left. Called once, before anything is drawn, when it is known whether there is a
 * session. Parameters that this tab did not ask for are ignored.
 */
export async function comeBack(): Promise<void> {
  const kept = sessionStorage.getItem(LEAVING);
  if (kept === null || location.pathname !== DASHBOARD) return;
  sessionStorage.removeItem(LEAVING);
  const { page, join } = JSON.parse(kept) as Leaving;
  const address = location.href;
  history.replaceState(null, '', page);
  try {
    const ending = endingOf(address, sessionStorage);
    if (ending === null) return;
    if (join) await request('POST', '/auth/identities', { body: ending });
    else await session.signIn(ending);
    returned.joined = join;
  } catch (error) {
    returned.problem = error instanceof Problem ? error : null;
  }
}

function leave(address: string, join: boolean): void {
  const leaving: Leaving = { page: `${location.pathname}${location.search}`, join };
  sessionStorage.setItem(LEAVING, JSON.stringify(leaving));
  location.assign(address);
}
