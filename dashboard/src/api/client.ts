/** The one client of the page, with the session of the person at it; and requests to any route as JSON. */
import { createClient, Problem } from '../../../client/client.ts';
import { freshSignIn } from './fresh.ts';
import { SERVER } from './server.ts';
import { session } from './session.ts';

export const client = createClient(SERVER, { token: session.source });

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface Answer<T> {
  readonly body: T;
  readonly headers: Headers;
}

interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whose answer is wanted, for reads: `user:<id>`, `role:<name>`, `key:<id>` or `anonymous` (docs/policies.md). */
  readonly as?: string | undefined;
}

/**
 * A request to a route of the server. Where that wants a fresh sign-in, the person is asked for it, and the request is sent
 * again.
 * @param path with its parameters
 * @throws Problem a refusal by the server
 */
export async function request<T>(method: Method, path: string, options: RequestOptions = {}): Promise<Answer<T>> {
  try {
    return await send<T>(method, path, options);
  } catch (error) {
    const isAsked = error instanceof Problem && error.code === 'fresh-sign-in-required';
    if (isAsked && (await freshSignIn.ask())) return await send<T>(method, path, options);
    throw error;
  }
}

async function send<T>(method: Method, path: string, { body, headers: given = {}, as }: RequestOptions) {
  try {
    const headers = as === undefined ? given : { ...given, 'millrace-as': as };
    const asked = body === undefined ? { headers } : { body, headers };
    return (await client.request(method, path, asked)) as Answer<T>;
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid-credential') session.ended();
    throw error;
  }
}

/** The parameters of an address, without those that are undefined. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
