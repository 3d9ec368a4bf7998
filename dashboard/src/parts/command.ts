/** A request to this installation as a command of a shell. Where the server wants a credential, the command has its place. */
import { SERVER } from '../api/server.ts';
import { session } from '../api/session.ts';

/** The credential in a command: a variable of the shell, so that no secret is on the page. */
export const TOKEN = '$TOKEN';

const AS_JSON = "-H 'content-type: application/json'";

/**
 * @param target the path; or options and the address in quotes, where a path alone does not do
 * @param body JSON that is sent; its quotes are those of JSON only
 */
export function curl(target: string, body?: object): string {
  const address = target.startsWith('/') ? `${SERVER}${target}` : target;
  const parts = [`curl ${address}`];
  if (session.state !== 'open') parts.push(`-H "authorization: Bearer ${TOKEN}"`);
  if (body !== undefined) parts.push(`${AS_JSON} -d '${JSON.stringify(body)}'`);
  return parts.join(' \\\n  ');
}
