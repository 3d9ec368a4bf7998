/** Millrace in production mode for a benchmark, with an owner who sets it up. Not here: starting it (programs.ts). */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Program, startOurs } from './programs.ts';

/** The password of every account of a benchmark. */
export const PASSWORD = 'a password for the benchmark';
const OWNER = 'owner@example.com';

/** Starts it on a database of a running MongoDB, without a limit of requests. @param folder keeps the owner's password */
export async function startProduction(mongodb: string, database: string, folder: string): Promise<Program> {
  const secret = join(folder, 'password');
  await writeFile(secret, PASSWORD, { mode: 0o600 });
  return startOurs(mongodb, database, {
    MILLRACE_MODE: 'production',
    HOST: '127.0.0.1',
    MILLRACE_PUBLIC_URL: 'http://127.0.0.1',
    MILLRACE_OWNER_EMAIL: OWNER,
    MILLRACE_OWNER_PASSWORD_FILE: secret,
    MILLRACE_RATE_PRINCIPAL: '100000000',
  });
}

/** The access token of the owner, or of another account. */
export async function signIn(program: Program, username = OWNER): Promise<string> {
  return String((await post(program, '/auth/login', { username, password: PASSWORD }))['accessToken']);
}

/** The JSON that a POST is answered with. */
export async function post(
  program: Program,
  path: string,
  body: object,
  token?: string,
): Promise<Record<string, unknown>> {
  const answer = await fetch(program.base + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}
