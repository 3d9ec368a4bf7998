/** A request as a program would send it: the response is shown unchanged, also when it is an error or not JSON. */
import { SERVER } from './server.ts';
import { session } from './session.ts';

export interface PlainResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly durationMs: number;
}

/**
 * @param path of this server
 * @param body JSON text; absent for none
 * @throws TypeError the server cannot be reached
 */
export async function plainRequest(method: string, path: string, body?: string): Promise<PlainResponse> {
  const token = await session.source(null);
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const begun = performance.now();
  const response = await fetch(SERVER + path, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, durationMs: performance.now() - begun };
}
