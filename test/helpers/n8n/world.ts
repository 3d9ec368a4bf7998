/**
 * A Millrace in production for n8n: its address, and an API key with the policies that the README of the package names. Not here:
 * n8n (engine.ts, server.ts).
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import type { Parts } from '../../../src/parts.ts';
import { buildTestApp } from '../app.ts';
import { withPolicies } from '../policies.ts';
import type { Credentials } from './engine.ts';

const NOBODY = { by: null, request: null };
/** Whoever has this role is n8n. */
const N8N = { effect: 'allow', principals: { roles: ['n8n'] } };
/** What the README tells to set. The documents have a member that the key may not see. */
const POLICIES = [
  { ...N8N, name: 'Documents', collections: ['todos', 'notes'], actions: ['read', 'create', 'update', 'delete'] },
  { ...N8N, name: 'Secrets stay', collections: ['orders'], actions: ['read'], fields: { read: ['*', '-secret'] } },
  { ...N8N, name: 'Files', collections: ['files'], actions: ['read', 'create'] },
  { ...N8N, name: 'Functions', collections: ['functions'], actions: ['call'] },
  { ...N8N, name: 'Hooks', collections: ['webhooks'], actions: ['read', 'create', 'delete'] },
];

const WRITING = { name: 'Writing', actions: ['read', 'create', 'update'], principals: { roles: ['writer'] } };

const GREETER = {
  name: 'greeter',
  functions: [{ name: 'greet', file: 'greet.ts', http: { method: 'POST', path: '/greet/:who' }, as: 'caller' }],
};
const GREET = `export default ({ params, query, body }) => ({ text: query.word + ', ' + params.who, got: body });\n`;

export interface N8nWorld {
  readonly app: FastifyInstance;
  readonly parts: Parts;
  readonly credentials: Credentials;
  /** The `authorization` of another key, which writes what n8n may only read, and collections of its own. */
  readonly writer: string;
}

/** @param plugins whether the function `POST /fn/greet/:who` is wanted: it takes a process */
export async function n8nWorld(t: Test, { plugins = false } = {}): Promise<N8nWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-n8n-plugins-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'greeter'));
  writeFileSync(join(folder, 'greeter', 'plugin.json'), JSON.stringify(GREETER));
  writeFileSync(join(folder, 'greeter', 'greet.ts'), GREET);
  const { app, parts } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
    MILLRACE_EGRESS_ALLOW: '127.0.0.0/8',
    ...(plugins ? { MILLRACE_PLUGINS: folder } : { MILLRACE_FUNCTIONS: 'off' }),
  });
  withPolicies(parts, [...POLICIES, { ...WRITING, collections: ['orders', 'private'] }]);
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
  const keyOf = async (role: string) => {
    const limits = { roles: [role], collections: null, actions: null, expiresAt: null };
    return (await parts.auth.keys.create({ name: role, ...limits }, NOBODY)).key;
  };
  const [apiKey, writer] = [await keyOf('n8n'), await keyOf('writer')];
  return { app, parts, credentials: { baseUrl, apiKey }, writer: `Bearer ${writer}` };
}
