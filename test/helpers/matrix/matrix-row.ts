/** A row of the table of routes. */

/**
 * Who may use a route. `public`: every client, with any credential; `account`: signed-in users; `documents`: by
 * policies; `build`: administrators who build, viewers read; `accounts`: administrators with the role owner or manager.
 */
type Audience = 'public' | 'account' | 'documents' | 'build' | 'accounts';

export interface Row {
  readonly route: string;
  readonly audience: Audience;
  /** The URL, when it is not the route with its parameters filled. */
  readonly url?: string;
  readonly send?: unknown;
  /** Sent as one file in a form. */
  readonly upload?: 'file' | 'files';
  readonly headers?: Readonly<Record<string, string>>;
  /** The status for allowed principals. */
  readonly status: number;
  /** What its JSON must match; documents are cut to what policies show. */
  readonly body?: unknown;
  /** Reads, although its method does not indicate that. */
  readonly reads?: true;
  /** Administrators may request it as another principal (`Millrace-As`); every other route rejects that. */
  readonly as?: true;
  /** A route for users that accepts API keys, too. */
  readonly keyed?: true;
  /** Changes nothing, so a viewer may use it; a read-only key may not, because its method is not safe. */
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
