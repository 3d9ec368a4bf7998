/** Millrace in production mode for a benchmark, with an administrator. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Program, startOurs } from './programs.ts';

/** The password of every user of a benchmark. */
export const PASSWORD = 'a password for the benchmark';
const ADMIN = 'owner@example.com';

/**
 * Starts it on a database of a running MongoDB, without rate limits.
 * @param folder stores the administrator's password
 */
export async function startProduction(mongodb: string, database: string, folder: string): Promise<Program> {
  const secret = join(folder, 'password');
  await writeFile(secret, PASSWORD, { mode: 0o600 });
  return startOurs(mongodb, database, {
    MILLRACE_MODE: 'production',
    HOST: '127.0.0.1',
    MILLRACE_PUBLIC_URL: 'http://127.0.0.1',
    MILLRACE_ADMIN_EMAIL: ADMIN,
    MILLRACE_ADMIN_PASSWORD_FILE: secret,
    MILLRACE_RATE_LIMIT_PRINCIPAL: '100000000',
  });
}

/** The access token of the administrator, or of another user. */
export async function signIn(program: Program, username = ADMIN): Promise<string> {
  return String((await post(program, '/auth/login', { username, password: PASSWORD }))['accessToken']);
}

/** The JSON response of a POST. */
export async function post(
  program: Program,
  path: string,
  body: object,
  token?: string,
): Promise<Record<string, unknown>> {
  const response = await fetch(program.base + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}
