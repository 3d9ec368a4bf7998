/**
 * The end of a sign-in with a provider: a URL of the client, with a one-time code or an error (RFC 6749 section 4.1.2).
 * Pure.
 */
import { MillraceError } from '../../lib/errors.ts';

/** Where the browser goes next. */
export interface BrowserRedirect {
  readonly location: string;
  /** Fields that the browser posts there; missing for a redirect. */
  readonly form?: Readonly<Record<string, string>>;
  readonly cookies: readonly string[];
}

type Parameters = Readonly<Record<string, string | null>>;

/** Runs a step of a sign-in whose redirect URL is known, which receives errors. */
export async function redirectOnError(
  redirect: string,
  state: string | null,
  act: () => Promise<BrowserRedirect>,
): Promise<BrowserRedirect> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    const words = error.hint === undefined ? error.message : `${error.message}. ${error.hint}`;
    return {
      location: clientRedirectUrl(redirect, { error: error.code, error_description: words, state }),
      cookies: [],
    };
  }
}

/**
 * The URL of the client with the outcome. The empty fragment is there because browsers would otherwise keep that of the
 * previous URL, such as the `#_=_` of Facebook (RFC 9700 section 4.1.3).
 */
export function clientRedirectUrl(redirect: string, outcome: Parameters): string {
  return `${addQueryParameters(redirect, outcome)}#`;
}

/** A URL with these parameters; null for none. */
export function addQueryParameters(address: string, parameters: Parameters): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(parameters)) if (value !== null) url.searchParams.set(name, value);
  return url.href;
}
