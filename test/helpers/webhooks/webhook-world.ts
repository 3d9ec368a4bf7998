/**
 * An app in production whose routes give deliveries to a sender that keeps them, with clients that policies let have webhooks.
 * The book of endpoints is the real one, and tells the real sender.
 */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import type { Test } from 'tap';
import { buildApp } from '../../../src/app.ts';
import { loadConfig } from '../../../src/kernel/config/config.ts';
import { makeParts, type Parts } from '../../../src/parts.ts';
import { type TestMongo, testMongo } from '../mongo.ts';
import { withPolicies } from '../policies.ts';
import { type Client, clientsOf, key, owner, user } from '../principals.ts';
import { ToldSender } from './told-sender.ts';

export interface WebhookWorld {
  readonly app: FastifyInstance;
  readonly parts: Parts;
  readonly sender: ToldSender;
  readonly place: TestMongo;
  /** All that was logged. */
  readonly lines: readonly string[];
  readonly boss: Client;
  readonly viewer: Client;
  /** A key, another key and a user that may do everything with their own webhooks. */
  readonly mine: Client;
  readonly others: Client;
  readonly ann: Client;
  /** A key that may look at its own webhooks and no more. */
  readonly looker: Client;
  /** A key without a policy. */
  readonly stranger: Client;
  readonly anonymous: Client;
}

export const HOOK = { url: 'https://example.invalid/hook', types: ['todos.*'] };

const HOOKS = { effect: 'allow', collections: ['webhooks'] };
const POLICIES = [
  { ...HOOKS, name: 'hooks', actions: ['read', 'create', 'update', 'delete'], principals: { roles: ['hooks'] } },
  { ...HOOKS, name: 'looking', actions: ['read'], principals: { roles: ['looks'] } },
];

export interface WorldOptions {
  readonly settings?: Record<string, string>;
  /** The database of another world: both are processes of one installation. */
  readonly place?: TestMongo;
  /** The routes give deliveries to the real sender, too. */
  readonly sends?: boolean;
}

export async function webhookWorld(t: Test, options: WorldOptions = {}): Promise<WebhookWorld> {
  const { settings = {}, place = await testMongo(t), sends = false } = options;
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
  const masterKey = randomBytes(32).toString('base64');
  const own = { MILLRACE_DB: place.database, MILLRACE_MODE: 'production', MILLRACE_MASTER_KEY: masterKey, PORT: '0' };
  const config = loadConfig({ ...own, ...settings });
  const parts = await makeParts(config, place.url, (err) => log.error({ err }, 'background'));
  const sender = new ToldSender();
  const app = await buildApp(sends ? parts : { ...parts, webhooks: { ...parts.webhooks, sender } }, log);
  t.teardown(async () => {
    await app.close();
    await parts.close();
  });
  await app.ready();
  if (config.mode === 'production') withPolicies(parts, POLICIES);
  const client = clientsOf(app, parts);
  return {
    app,
    parts,
    sender,
    place,
    lines,
    boss: client(owner()),
    viewer: client(owner('viewer')),
    mine: client(key('k1', { roles: ['hooks'] })),
    others: client(key('k2', { roles: ['hooks'] })),
    ann: client(user('k1', ['hooks'])),
    looker: client(key('k3', { roles: ['looks'] })),
    stranger: client(key('k4')),
    anonymous: client({ kind: 'anonymous' }),
  };
}
