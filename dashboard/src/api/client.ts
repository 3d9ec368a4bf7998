/** The client of the page, with the user's session; and JSON requests to any route. */
import { createClient, MillraceError } from '../../../client/client.ts';
import { reauthentication } from './reauthentication.ts';
import { SERVER } from './server.ts';
import { session } from './session.ts';

export const client = createClient(SERVER, { token: session.source });

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface ApiResponse<T> {
  readonly body: T;
  readonly headers: Headers;
}

interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The principal to impersonate, for reads: `user:<id>`, `role:<name>`, `key:<id>` or `anonymous` (docs/policies.md).
   */
  readonly as?: string | undefined;
}

/**
 * A request to a route of the server. Where that wants a fresh sign-in, the person is asked for it, and the request is sent
 * again.
 * @param path with its parameters
 * @throws MillraceError a refusal by the server
 */
export async function request<T>(method: Method, path: string, options: RequestOptions = {}): Promise<ApiResponse<T>> {
  try {
    return await send<T>(method, path, options);
  } catch (error) {
    const isRequested = error instanceof MillraceError && error.code === 'reauthentication-required';
    if (isRequested && (await reauthentication.request())) return await send<T>(method, path, options);
    throw error;
  }
}

async function send<T>(method: Method, path: string, { body, headers: given = {}, as }: RequestOptions) {
  try {
    const headers = as === undefined ? given : { ...given, 'millrace-as': as };
    const requested = body === undefined ? { headers } : { body, headers };
    return (await client.request(method, path, requested)) as ApiResponse<T>;
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'invalid-token') session.ended();
    throw error;
  }
}

/** The parameters of a URL, without undefined ones. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
