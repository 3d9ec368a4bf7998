/** A request as a program would make it: the answer is shown as it came, also when it is a refusal or no JSON. */
import { SERVER } from './server.ts';
import { session } from './session.ts';

export interface PlainAnswer {
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
export async function plainRequest(method: string, path: string, body?: string): Promise<PlainAnswer> {
  const token = await session.source(null);
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const begun = performance.now();
  const answer = await fetch(SERVER + path, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, durationMs: performance.now() - begun };
}
