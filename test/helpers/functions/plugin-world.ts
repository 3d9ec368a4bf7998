/**
 * An app in production with owners of each role and others, for tests of plugins. Functions are off unless a test switches them
 * on: then plugins are stored and shown, and nothing runs.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import type { Test } from 'tap';
import { buildApp } from '../../../src/app.ts';
import { loadConfig } from '../../../src/kernel/config/config.ts';
import { makeParts, type Parts } from '../../../src/parts.ts';
import { type TestMongo, testMongo } from '../mongo.ts';
import { type Client, clientsOf, key, owner, user } from '../principals.ts';

export interface PluginWorld {
  readonly app: FastifyInstance;
  readonly parts: Parts;
  readonly place: TestMongo;
  /** The folder of plugins, empty at first. */
  readonly folder: string;
  /** All that was logged, with what an operator is told. */
  readonly lines: readonly string[];
  readonly boss: Client;
  readonly admin: Client;
  readonly developer: Client;
  readonly viewer: Client;
  readonly somebody: Client;
  readonly program: Client;
  readonly anonymous: Client;
}

export interface PluginWorldOptions {
  readonly settings?: Record<string, string>;
  /** The database of another world: both are processes of one installation. */
  readonly place?: TestMongo;
  readonly folder?: string;
}

export async function pluginWorld(t: Test, options: PluginWorldOptions = {}): Promise<PluginWorld> {
  const { settings = {}, place = await testMongo(t), folder = await emptyFolder(t) } = options;
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
  const config = loadConfig({
    MILLRACE_DB: place.database,
    MILLRACE_MODE: 'production',
    MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
    MILLRACE_PLUGINS: folder,
    MILLRACE_FUNCTIONS: 'off',
    PORT: '0',
    ...settings,
  });
  const parts = await makeParts(
    config,
    place.url,
    (err) => log.error({ err }, 'background'),
    () => undefined,
    (advice) => log.warn(advice),
  );
  const app = await buildApp(parts, log);
  t.teardown(async () => {
    await app.close();
    await parts.close();
  });
  await app.ready();
  const client = clientsOf(app, parts);
  return {
    app,
    parts,
    place,
    folder,
    lines,
    boss: client(owner()),
    admin: client(owner('admin')),
    developer: client(owner('developer')),
    viewer: client(owner('viewer')),
    somebody: client(user('u1', ['member'])),
    program: client(key('k1', { roles: ['owner'] })),
    anonymous: client({ kind: 'anonymous' }),
  };
}

/** A folder that goes with the test. */
export async function emptyFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-plugins-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A manifest with one endpoint, and its script. */
export function onePlugin(name: string, more: object = {}, script = 'export default async () => 1;') {
  const endpoint = { name: 'total', file: 'total.ts', http: { method: 'POST', path: `/${name}/:id/total` } };
  return { manifest: { name, functions: [endpoint], ...more }, files: { 'total.ts': script } };
}
