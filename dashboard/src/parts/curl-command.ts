/** A request to this instance as a shell command, with a placeholder for the credential if the server requires one. */
import { SERVER } from '../api/server.ts';
import { session } from '../api/session.ts';

/** The credential in a command: a shell variable, so that no secret is on the page. */
export const TOKEN = '$TOKEN';

const AS_JSON = "-H 'content-type: application/json'";

/**
 * @param target the path; or options and the quoted URL, where a path alone is not enough
 * @param body JSON body; it must contain no quotes but those of JSON
 */
export function curl(target: string, body?: object): string {
  const address = target.startsWith('/') ? `${SERVER}${target}` : target;
  const parts = [`curl ${address}`];
  if (session.state !== 'open') parts.push(`-H "authorization: Bearer ${TOKEN}"`);
  if (body !== undefined) parts.push(`${AS_JSON} -d '${JSON.stringify(body)}'`);
  return parts.join(' \\\n  ');
}
