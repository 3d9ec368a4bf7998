/** Creates all services of one process from the configuration, layer by layer, and stops them in reverse order. */
import { createOAuthServices, type OAuthServices } from './auth/oauth-services.ts';
import { RequestRateLimiter } from './auth/request-rate-limiter.ts';
import { type AuthServices, createAuthServices } from './auth/services.ts';
import { VERSION } from './cli-text.ts';
import { BulkWrites } from './collections/bulk-writes.ts';
import { CollectionAdmin } from './collections/collection-admin.ts';
import { CollectionRegistry } from './collections/collection-registry.ts';
import { Collections } from './collections/collections.ts';
import { Idempotency } from './collections/http/idempotency.ts';
import { IdempotencyStore } from './collections/http/idempotency-store.ts';
import { Indexes } from './collections/indexes.ts';
import { DiskSpaceCheckedStore } from './collections/store/disk-space-checked-store.ts';
import { MissingIndexHints } from './collections/store/missing-index-hints.ts';
import { SortIndexes } from './collections/store/sort-indexes.ts';
import { DocumentStore } from './collections/store/store.ts';
import { TransactionRunner } from './collections/transaction-runner.ts';
import { LateBoundHooks } from './collections/write-hooks.ts';
import type { Config } from './config/config.ts';
import { connectMongo, type Mongo, missingPrivilegesError } from './database/mongo.ts';
import { Transactions } from './database/transactions.ts';
import { Egress } from './egress/egress.ts';
import { AuditLog } from './events/audit/audit.ts';
import { AuditStore } from './events/audit/audit-store.ts';
import { createLogForwarder, type LogCallbacks } from './events/log/server-log-forwarder.ts';
import { createEventServices, type EventServices } from './events/services.ts';
import type { Files } from './files/files.ts';
import { createFileServices } from './files/services.ts';
import { createFunctionServices, type FunctionServices } from './functions/services.ts';
import type { DiskSpaceMonitor } from './lib/disk-space.ts';
import { MillraceError } from './lib/errors.ts';
import { ByteBudget, byteBudgetLimits } from './lib/memory/byte-budget.ts';
import { OpenResponses } from './lib/streaming/slow-reader-limits.ts';
import { ImpersonationService } from './policies/impersonation.ts';
import { Policies } from './policies/policies.ts';
import { PolicyRegistry } from './policies/policy-registry.ts';
import { PolicyStore } from './policies/policy-store.ts';
import { StreamedResponses } from './policies/revalidation/streamed-responses.ts';
import { QuotaCounter } from './quotas/quota-counter.ts';
import { QuotaStore } from './quotas/quota-store.ts';
import { Quotas } from './quotas/quotas.ts';
import { Realtime } from './realtime/realtime.ts';
import { createWebhookServices, senderFor, type WebhookServices } from './webhooks/services.ts';

export interface Services {
  readonly config: Config;
  readonly mongo: Mongo;
  readonly space: DiskSpaceMonitor | undefined;
  readonly auth: AuthServices;
  /** Access to servers whose URLs come from data. */
  readonly egress: Egress;
  readonly oauth: OAuthServices;
  /** The rate limits of clients, over HTTP and over sockets. */
  readonly requestRate: RequestRateLimiter;
  readonly policies: Policies;
  readonly policyRegistry: PolicyRegistry;
  readonly impersonation: ImpersonationService;
  readonly streamedResponses: StreamedResponses;
  readonly collections: Collections;
  readonly bulkWrites: BulkWrites;
  readonly atomic: TransactionRunner;
  readonly idempotency: Idempotency;
  /** Runs write hooks. */
  readonly writeHooks: LateBoundHooks;
  readonly indexes: Indexes;
  readonly registry: CollectionRegistry;
  readonly catalogue: CollectionAdmin;
  readonly files: Files;
  readonly events: EventServices;
  readonly audit: AuditLog;
  readonly webhooks: WebhookServices;
  readonly functions: FunctionServices;
  readonly realtime: Realtime;
  /** Resolves when the services can handle requests; rejects if not. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

export interface CreateServicesOptions {
  /** Called with errors of background work, which belong to no request; no more after the start failed. */
  readonly onError?: (error: unknown) => void;
  /** Prints e-mails and function runs in the terminal, in development mode. */
  readonly onEmail?: (text: string) => void;
  /** Called with advice for operators, and with errors after which work continues. */
  readonly onAdvice?: (text: string) => void;
  /** The disk space of the embedded database, if that is the database. */
  readonly space?: DiskSpaceMonitor | undefined;
}

/**
 * Opens everything in order. A start that fails closes what it had opened.
 * @param url connection string of the database
 * @throws UnusableDatabase if the server does not support Millrace, ConfigError if a file store is unusable
 */
export async function createServices(
  config: Config,
  url: string,
  options: CreateServicesOptions = {},
): Promise<Services> {
  const settings = { url, database: config.database.name, maxPoolSize: config.database.maxConnections };
  const cleanup = new AsyncDisposableStack();
  let hasFailed = false;
  // Errors caused by closing a failed start would hide the one error that matters.
  const onError = (error: unknown) => void (hasFailed || options.onError?.(error));
  const onAdvice = (text: string) => void (hasFailed || options.onAdvice?.(text));
  const { onEmail = () => undefined, space } = options;
  try {
    const mongo = cleanup.adopt(await connectMongo(settings), (it) => it.close());
    return await createServicesOn(mongo, config, cleanup, { onError, onEmail, onAdvice, space });
  } catch (error) {
    hasFailed = true;
    await cleanup.disposeAsync().catch(() => undefined);
    throw missingPrivilegesError(error, settings) ?? error;
  }
}

async function createServicesOn(
  mongo: Mongo,
  config: Config,
  cleanup: AsyncDisposableStack,
  { onError, onEmail, onAdvice, space }: LogCallbacks & Pick<Required<CreateServicesOptions>, 'onEmail' | 'space'>,
): Promise<Services> {
  const { mode } = config;
  const { publicUrl } = config.server;
  const { queryTimeoutMs, listTimeoutMs, slowQueryMs, expandBytes } = config.collections;
  const transactions = cleanup.adopt(new Transactions(mongo), (it) => it.stop());
  await transactions.start();

  const egress = cleanup.adopt(new Egress({ mode, allow: config.egress.allow }), (it) => it.close());
  const policyStore = new PolicyStore(mongo);
  const countPolicies = () => policyStore.count(mode);
  const auth = await createAuthServices({ mongo, mode, config: config.auth, countPolicies, onError, onEmail, cleanup });
  const { authenticator, activity, encryption, signing } = auth;
  const policies = new Policies(mode);
  const policyRegistry = new PolicyRegistry({
    store: policyStore,
    policies,
    transactions,
    mode,
    hasAdministrator: () => auth.firstAdmin.exists(),
    onError,
  });
  await policyRegistry.prepare();
  const oauth = createOAuthServices({ mongo, transactions, egress, mode, config: config.auth, auth, onError, cleanup });

  const budget = new ByteBudget(byteBudgetLimits(config.held));
  const impersonation = new ImpersonationService({ authenticator, policies, activity, mode });
  const openResponses = new OpenResponses({ budget });
  const streamedResponses = new StreamedResponses({ authenticator, policies, impersonation, openResponses });
  const registry = new CollectionRegistry(mongo);
  const quotaStore = Object.values(config.quotas).some((limit) => limit > 0) ? new QuotaStore(mongo) : undefined;
  const quotas = quotaStore && new Quotas(quotaStore, config.quotas);
  const atomic = new TransactionRunner(transactions, registry);
  const store = space
    ? new DiskSpaceCheckedStore(mongo, queryTimeoutMs, space)
    : new DocumentStore(mongo, queryTimeoutMs);
  const sortIndexes = new SortIndexes(mongo);
  const hooks = new LateBoundHooks();
  const collections = new Collections({
    store,
    sortIndexes,
    missingIndexes: new MissingIndexHints({ mongo, sortIndexes, onAdvice }),
    registry,
    atomic,
    queryTimeoutMs,
    listTimeoutMs,
    slowQueryMs,
    expandBytes,
    quotas,
    hooks,
    cursorKeys: signing.cursors,
  });
  const bulkWrites = new BulkWrites({ store, registry, atomic, quotas, hooks });
  const keys = new IdempotencyStore(mongo);
  await keys.start();
  const idempotency = new Idempotency(keys, atomic);

  const { files } = await createFileServices({
    mongo,
    transactions,
    quotas,
    space,
    stores: config.files.stores,
    maxFileBytes: config.files.maxFileBytes,
    queryTimeoutMs,
    listTimeoutMs,
    cursorKeys: signing.cursors,
    signedUrlKeys: signing.fileUrls,
    onError,
    cleanup,
  });

  const onLog = createLogForwarder({ onError, onAdvice });
  const events = await createEventServices({ mongo, config: config.events, onLog, cleanup });
  // What every process caches and updates within a second.
  const held = [policyRegistry, oauth.providers, oauth.redirects, auth.email.emailTemplates];
  const reloaders = held.map(({ reloader }) => cleanup.adopt(reloader, (it) => it.stop()));
  const caches = [auth, registry, sortIndexes, ...reloaders];
  for (const cache of quotas === undefined ? caches : [...caches, quotas]) {
    cleanup.defer(events.tail.attachCache(cache));
  }
  await Promise.all(reloaders.map((it) => it.start(() => events.upToDate())));
  const { consumer } = events;
  const audit = cleanup.adopt(new AuditLog({ store: new AuditStore(mongo), consumer }), (it) => it.stop());
  await audit.start();
  auth.email.startNotices(consumer);
  if (quotaStore !== undefined)
    cleanup.adopt(consumer(new QuotaCounter(quotaStore).reading()), (it) => it.stop()).start();

  const webhooks = await createWebhookServices({
    mongo,
    transactions,
    authenticator,
    users: auth.users,
    activity,
    encryption,
    policies,
    events,
    egress,
    publicUrl,
    createSender: senderFor(config.webhooks, { mongo, egress, onLog, version: VERSION }),
    onError,
    cleanup,
  });

  const functions = await createFunctionServices({
    mongo,
    transactions,
    activity,
    encryption,
    policies,
    events,
    config: config.functions,
    collections,
    bulkWrites,
    atomic,
    registry,
    files,
    egress,
    publicUrl,
    writeHooks: hooks,
    isDevelopment: mode === 'development',
    report: mode === 'development' ? onEmail : null,
    onIssue: onAdvice,
    onError,
    cleanup,
  });

  const requestRate = new RequestRateLimiter(config.server.rate);
  const realtime = cleanup.adopt(
    new Realtime({
      maxClients: config.realtime.maxClients,
      heartbeatMs: config.realtime.heartbeatMs,
      budget,
      queryTimeoutMs,
      mongo,
      events,
      policies,
      authenticator,
      impersonation,
      requestRate,
      onError,
    }),
    (it) => it.close(),
  );

  return {
    config,
    mongo,
    space,
    auth,
    egress,
    oauth,
    requestRate,
    policies,
    policyRegistry,
    impersonation,
    streamedResponses,
    collections,
    bulkWrites,
    atomic,
    idempotency,
    writeHooks: hooks,
    indexes: new Indexes(mongo, registry, sortIndexes),
    registry,
    catalogue: new CollectionAdmin(mongo, registry),
    files,
    events,
    audit,
    webhooks,
    functions,
    realtime,
    ready: async () => {
      await mongo.log.command({ ping: 1 }, { timeoutMS: 2_000 });
      if (!events.recorder.working || !events.tail.healthy)
        throw new MillraceError('database-unavailable', 'The event log is not being followed');
    },
    close: () => cleanup.disposeAsync(),
  };
}
