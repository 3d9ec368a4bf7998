/**
 * An app in production whose routes pass deliveries to a sender that records them, with clients that policies allow
 * webhooks. The registry of endpoints is the real one, and uses the real sender.
 */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import type { Test } from 'tap';
import { buildApp } from '../../../src/app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { createServices, type Services } from '../../../src/services.ts';
import { type TestMongo, testMongo } from '../mongo.ts';
import { withPolicies } from '../policies.ts';
import { type Client, clientsOf, key, owner, user } from '../principals.ts';
import { RecordingSender } from './recording-sender.ts';

export interface WebhookFixture {
  readonly app: FastifyInstance;
  readonly services: Services;
  readonly sender: RecordingSender;
  readonly testDatabase: TestMongo;
  /** All that was logged. */
  readonly lines: readonly string[];
  readonly boss: Client;
  readonly viewer: Client;
  /** A key, another key and a user that may do everything with their own webhooks. */
  readonly mine: Client;
  readonly others: Client;
  readonly ann: Client;
  /** A key that may only read its own webhooks. */
  readonly looker: Client;
  /** A key without a policy. */
  readonly unprivileged: Client;
  readonly anonymous: Client;
}

export const HOOK = { url: 'https://example.invalid/hook', types: ['todos.*'] };

const HOOKS = { effect: 'allow', resources: ['_webhooks'] };
const POLICIES = [
  { ...HOOKS, name: 'hooks', actions: ['read', 'create', 'update', 'delete'], principals: { roles: ['hooks'] } },
  { ...HOOKS, name: 'looking', actions: ['read'], principals: { roles: ['looks'] } },
];

export interface FixtureOptions {
  readonly settings?: Record<string, string>;
  /** The database of another fixture: both are processes of one instance. */
  readonly testDatabase?: TestMongo;
  /** The routes also pass deliveries to the real sender. */
  readonly sends?: boolean;
}

export async function webhookFixture(t: Test, options: FixtureOptions = {}): Promise<WebhookFixture> {
  const { settings = {}, testDatabase = await testMongo(t), sends = false } = options;
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
  const masterKey = randomBytes(32).toString('base64');
  const own = {
    MILLRACE_DB: testDatabase.database,
    MILLRACE_MODE: 'production',
    MILLRACE_MASTER_KEY: masterKey,
    PORT: '0',
  };
  const config = loadConfig({ ...own, ...settings });
  const services = await createServices(config, testDatabase.url, {
    onError: (err) => log.error({ err }, 'background'),
  });
  const sender = new RecordingSender();
  const app = await buildApp(sends ? services : { ...services, webhooks: { ...services.webhooks, sender } }, log);
  t.teardown(async () => {
    await app.close();
    await services.close();
  });
  await app.ready();
  if (config.mode === 'production') withPolicies(services, POLICIES);
  const client = clientsOf(app, services);
  return {
    app,
    services,
    sender,
    testDatabase,
    lines,
    boss: client(owner()),
    viewer: client(owner('viewer')),
    mine: client(key('k1', { roles: ['hooks'] })),
    others: client(key('k2', { roles: ['hooks'] })),
    ann: client(user('k1', ['hooks'])),
    looker: client(key('k3', { roles: ['looks'] })),
    unprivileged: client(key('k4')),
    anonymous: client({ kind: 'anonymous' }),
  };
}
