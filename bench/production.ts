/** Millrace in production mode for a benchmark, with an administrator, a policy and an API key. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Program, startOurs } from './programs.ts';

const PASSWORD = 'a password for the benchmark';
const ADMIN = 'owner@example.com';

/**
 * Starts it on a database of a running MongoDB, without rate limits and with its log.
 * @param folder stores the administrator's password
 * @param root the folder of the repository whose program is started
 * @param more further settings
 */
export async function startProduction(
  mongodb: string,
  database: string,
  folder: string,
  root?: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const secret = join(folder, 'password');
  await writeFile(secret, PASSWORD, { mode: 0o600 });
  const settings = {
    MILLRACE_MODE: 'production',
    HOST: '127.0.0.1',
    MILLRACE_PUBLIC_URL: 'http://127.0.0.1',
    MILLRACE_ADMIN_EMAIL: ADMIN,
    MILLRACE_ADMIN_PASSWORD_FILE: secret,
    MILLRACE_RATE_LIMIT_PRINCIPAL: '100000000',
    MILLRACE_LOG_LEVEL: 'info',
    ...more,
  };
  return startOurs(mongodb, database, settings, root);
}

/** An API key whose role may read and write by one policy, which has a filter and hides one field, and call functions. */
export async function createShopKey(program: Program, collections: readonly string[] = ['items']): Promise<string> {
  const owner = await signIn(program);
  const policy = {
    name: 'Shops work with orders',
    resources: collections,
    actions: ['read', 'create', 'update'],
    principals: { roles: ['shop'] },
    effect: 'allow',
    filter: { n: { $gte: 0 } },
    fields: { read: ['*', '-secret'], write: ['*', '-secret'] },
  };
  await post(program, '/admin/policies', policy, owner);
  const calls = { name: 'Shops call functions', resources: ['_functions'], actions: ['call'], effect: 'allow' };
  await post(program, '/admin/policies', { ...calls, principals: { roles: ['shop'] } }, owner);
  return String((await post(program, '/admin/keys', { name: 'shop', roles: ['shop'] }, owner))['key']);
}

async function signIn(program: Program): Promise<string> {
  return String((await post(program, '/auth/login', { username: ADMIN, password: PASSWORD }))['accessToken']);
}

async function post(program: Program, path: string, body: object, token?: string): Promise<Record<string, unknown>> {
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
