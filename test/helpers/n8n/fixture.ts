/** A Millrace in production for n8n: its URL, and an API key with the policies from the README of the package. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import type { Services } from '../../../src/services.ts';
import { buildTestApp } from '../app.ts';
import { withPolicies } from '../policies.ts';
import type { Credentials } from './engine.ts';

const NOBODY = { by: null, request: null };
/** The role of n8n. */
const N8N = { effect: 'allow', principals: { roles: ['n8n'] } };
/** The settings from the README. The documents have a field that the key may not read. */
const POLICIES = [
  { ...N8N, name: 'Documents', resources: ['todos', 'notes'], actions: ['read', 'create', 'update', 'delete'] },
  { ...N8N, name: 'Secrets stay', resources: ['orders'], actions: ['read'], fields: { read: ['*', '-secret'] } },
  { ...N8N, name: 'Files', resources: ['_files'], actions: ['read', 'create'] },
  { ...N8N, name: 'Functions', resources: ['_functions'], actions: ['call'] },
  { ...N8N, name: 'Hooks', resources: ['_webhooks'], actions: ['read', 'create', 'delete'] },
];

const WRITING = { name: 'Writing', actions: ['read', 'create', 'update'], principals: { roles: ['writer'] } };

const GREETER = {
  name: 'greeter',
  functions: [{ name: 'greet', file: 'greet.ts', http: { method: 'POST', path: '/greet/:who' }, as: 'caller' }],
};
const GREET = `export default ({ params, query, body }) => ({ text: query.word + ', ' + params.who, got: body });\n`;

export interface N8nFixture {
  readonly app: FastifyInstance;
  readonly services: Services;
  readonly credentials: Credentials;
  /** The `authorization` of another key, which writes what n8n may only read, and collections of its own. */
  readonly writer: string;
}

/** @param plugins whether the function `POST /fn/greet/:who` is needed: it takes a process */
export async function n8nFixture(t: Test, { plugins = false } = {}): Promise<N8nFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-n8n-plugins-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'greeter'));
  writeFileSync(join(folder, 'greeter', 'plugin.json'), JSON.stringify(GREETER));
  writeFileSync(join(folder, 'greeter', 'greet.ts'), GREET);
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
    MILLRACE_EGRESS_ALLOW: '127.0.0.0/8',
    ...(plugins ? { MILLRACE_PLUGINS_DIR: folder } : { MILLRACE_FUNCTIONS: 'off' }),
  });
  withPolicies(services, [...POLICIES, { ...WRITING, resources: ['orders', 'private'] }]);
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
  const keyOf = async (role: string) => {
    const limits = { roles: [role], resources: null, actions: null, expiresAt: null };
    return (await services.auth.keys.create({ name: role, ...limits }, NOBODY)).key;
  };
  const [apiKey, writer] = [await keyOf('n8n'), await keyOf('writer')];
  return { app, services, credentials: { baseUrl, apiKey }, writer: `Bearer ${writer}` };
}
