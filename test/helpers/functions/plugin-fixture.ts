/**
 * An app in production with administrators of each role and others, for tests of plugins. Functions are disabled unless
 * a test enables them: then plugins are stored and listed, and nothing runs.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import type { Test } from 'tap';
import { buildApp } from '../../../src/app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { createServices, type Services } from '../../../src/services.ts';
import { type TestMongo, testMongo } from '../mongo.ts';
import { type Client, clientsOf, key, owner, user } from '../principals.ts';

export interface PluginFixture {
  readonly app: FastifyInstance;
  readonly services: Services;
  readonly testDatabase: TestMongo;
  /** The folder of plugins, empty at first. */
  readonly folder: string;
  /** All that was logged, including messages for operators. */
  readonly lines: readonly string[];
  readonly boss: Client;
  readonly admin: Client;
  readonly developer: Client;
  readonly viewer: Client;
  readonly somebody: Client;
  readonly program: Client;
  readonly anonymous: Client;
}

export interface PluginFixtureOptions {
  readonly settings?: Record<string, string>;
  /** The database of another fixture: both are processes of one instance. */
  readonly testDatabase?: TestMongo;
  readonly folder?: string;
}

export async function createPluginFixture(t: Test, options: PluginFixtureOptions = {}): Promise<PluginFixture> {
  const { settings = {}, testDatabase = await testMongo(t), folder = await emptyFolder(t) } = options;
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
  const config = loadConfig({
    MILLRACE_DB: testDatabase.database,
    MILLRACE_MODE: 'production',
    MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
    MILLRACE_PLUGINS_DIR: folder,
    MILLRACE_FUNCTIONS: 'off',
    PORT: '0',
    ...settings,
  });
  const services = await createServices(config, testDatabase.url, {
    onError: (err) => log.error({ err }, 'background'),
    onAdvice: (advice) => log.warn(advice),
  });
  const app = await buildApp(services, log);
  t.teardown(async () => {
    await app.close();
    await services.close();
  });
  await app.ready();
  const client = clientsOf(app, services);
  return {
    app,
    services,
    testDatabase,
    folder,
    lines,
    boss: client(owner()),
    admin: client(owner('manager')),
    developer: client(owner('developer')),
    viewer: client(owner('viewer')),
    somebody: client(user('u1', ['member'])),
    program: client(key('k1', { roles: ['owner'] })),
    anonymous: client({ kind: 'anonymous' }),
  };
}

/** A folder that is removed with the test. */
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
