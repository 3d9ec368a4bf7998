/** The shape of a row of the table of routes, and how one is written. Not here: the rows (test/policies/matrix-rows.ts). */

/**
 * Whom a route is for. `public`: whoever comes, whatever credential is brought; `account`: whoever is signed in;
 * `documents`: by policies; `build`: owners who build, viewers look; `accounts`: owners and admins.
 */
type Audience = 'public' | 'account' | 'documents' | 'build' | 'accounts';

export interface Row {
  readonly route: string;
  readonly audience: Audience;
  /** The address, when it is not the route with its words filled. */
  readonly url?: string;
  readonly send?: unknown;
  /** Sent as one file in a form. */
  readonly upload?: 'file' | 'files';
  readonly headers?: Readonly<Record<string, string>>;
  /** What the allowed one is answered with. */
  readonly status: number;
  /** What its JSON must be like; documents are cut to what policies show. */
  readonly body?: unknown;
  /** Reads, although its method does not say so. */
  readonly reads?: true;
  /** Owners may ask it as another principal (`Millrace-As`); every other route refuses that. */
  readonly as?: true;
  /** A route for accounts that answers API keys, too. */
  readonly keyed?: true;
  /** Changes nothing, so that a viewer may; a read-only key may not, because its method is not safe. */
  readonly viewed?: true;
}

export const row = (
  route: string,
  audience: Audience,
  status: number,
  more: Omit<Row, 'route' | 'audience' | 'status'> = {},
): Row => ({
  route,
  audience,
  status,
  ...more,
});
