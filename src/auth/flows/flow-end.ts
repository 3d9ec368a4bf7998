/** Where a flow ends: an address of the client, with a one-time code or with a refusal (RFC 6749 section 4.1.2). Pure. */
import { MillraceError } from '../../kernel/errors.ts';

/** Where the browser goes next. */
export interface Step {
  readonly location: string;
  /** Fields that the browser posts there; missing where it only goes there. */
  readonly form?: Readonly<Record<string, string>>;
  readonly cookies: readonly string[];
}

type Parameters = Readonly<Record<string, string | null>>;

/** Runs a step of a flow whose end is known: there the client learns of a refusal. */
export async function ending(redirect: string, state: string | null, act: () => Promise<Step>): Promise<Step> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    const words = error.hint === undefined ? error.message : `${error.message}. ${error.hint}`;
    return { location: endOf(redirect, { error: error.code, error_description: words, state }), cookies: [] };
  }
}

/**
 * The address of the client with the outcome. The empty fragment is there because browsers would otherwise keep the one of
 * the address before, such as the `#_=_` of Facebook (RFC 9700 section 4.1.3).
 */
export function endOf(redirect: string, outcome: Parameters): string {
  return `${withParameters(redirect, outcome)}#`;
}

/** An address with these parameters; null for none. */
export function withParameters(address: string, parameters: Parameters): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(parameters)) if (value !== null) url.searchParams.set(name, value);
  return url.href;
}
