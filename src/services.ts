/** Creates all services of one process from the configuration, layer by layer, and stops them in reverse order. */
import { type AuthServices, openAuth } from './auth/open-auth.ts';
import type { ByProviders } from './auth/open-flows.ts';
import { Providers } from './auth/providers/providers.ts';
import { RedirectAllowlist } from './auth/providers/redirect-allowlist.ts';
import { RequestRateLimiter } from './auth/request-rate.ts';
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
import { Audit } from './events/audit/audit.ts';
import { AuditStore } from './events/audit/audit-store.ts';
import { createLogCallback, type LogTargets } from './events/log/log-callback.ts';
import { type EventServices, openEvents } from './events/open-events.ts';
import type { Files } from './files/files.ts';
import { openFiles } from './files/open-files.ts';
import { type FunctionServices, openFunctions } from './functions/open-functions.ts';
import { CleanupStack } from './lib/closers.ts';
import type { DiskSpace } from './lib/disk-space.ts';
import { MillraceError } from './lib/errors.ts';
import { ByteBudget, byteBudgetLimits } from './lib/memory/byte-budget.ts';
import { OpenResponses } from './lib/streaming/open-responses.ts';
import { Policies } from './policies/policies.ts';
import { PolicyRegistry } from './policies/policy-registry.ts';
import { PolicyStore } from './policies/policy-store.ts';
import { Impersonation } from './policies/revalidation/impersonation.ts';
import { StreamedResponses } from './policies/revalidation/streamed-responses.ts';
import { openQuotas } from './quotas/open-quotas.ts';
import { Realtime } from './realtime/realtime.ts';
import { senderBy } from './webhooks/open-sender.ts';
import { openWebhooks, type WebhookServices } from './webhooks/open-webhooks.ts';

export interface Services {
  readonly config: Config;
  readonly mongo: Mongo;
  readonly space: DiskSpace | undefined;
  readonly auth: AuthServices;
  /** Access to servers whose URLs come from data. */
  readonly egress: Egress;
  readonly providers: Providers;
  readonly redirects: RedirectAllowlist;
  readonly byProviders: ByProviders;
  /** The rate limits of clients, over HTTP and over sockets. */
  readonly requestRate: RequestRateLimiter;
  readonly policies: Policies;
  readonly policyRegistry: PolicyRegistry;
  readonly impersonation: Impersonation;
  readonly streamedResponses: StreamedResponses;
  readonly collections: Collections;
  readonly byFilter: BulkWrites;
  readonly atomic: TransactionRunner;
  readonly idempotency: Idempotency;
  /** Runs write hooks. */
  readonly writeHooks: LateBoundHooks;
  readonly indexes: Indexes;
  readonly registry: CollectionRegistry;
  readonly catalogue: CollectionAdmin;
  readonly files: Files;
  readonly events: EventServices;
  readonly audit: Audit;
  readonly webhooks: WebhookServices;
  readonly functions: FunctionServices;
  readonly realtime: Realtime;
  /** Resolves when the services can handle requests; rejects if not. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens everything in order. A start that fails closes what it had opened.
 * @param url connection string of the database
 * @param onError called with errors of background work, which belong to no request; no more after the start failed
 * @param onEmail prints e-mails and function runs in the terminal, in development mode
 * @param onAdvice called with advice for operators, and with errors after which work continues
 * @param space the disk space of the embedded database, if that is the database
 * @throws UnusableDatabase if the server does not support Millrace, ConfigError if a file store is unusable
 */
export async function createServices(
  config: Config,
  url: string,
  onError: (error: unknown) => void = () => undefined,
  onEmail: (text: string) => void = () => undefined,
  onAdvice: (text: string) => void = () => undefined,
  space?: DiskSpace,
): Promise<Services> {
  const settings = { url, database: config.database.name };
  const closers = new CleanupStack();
  let hasFailed = false;
  // Errors caused by closing a failed start would hide the one error that matters.
  const report = (error: unknown) => void (hasFailed || onError(error));
  const advise = (text: string) => void (hasFailed || onAdvice(text));
  try {
    const mongo = closers.add(await connectMongo(settings), (it) => it.close());
    return await makeOn(mongo, closers, config, { onError: report, onEmail, onAdvice: advise, space });
  } catch (error) {
    hasFailed = true;
    await closers.close().catch(() => undefined);
    throw missingPrivilegesError(error, settings) ?? error;
  }
}

async function makeOn(
  mongo: Mongo,
  closers: CleanupStack,
  config: Config,
  { onError, onEmail, onAdvice, space }: LogTargets & { onEmail(text: string): void; space?: DiskSpace | undefined },
): Promise<Services> {
  const { mode } = config;
  const transactions = closers.add(new Transactions(mongo), (it) => it.stop());
  await transactions.start();

  const egress = closers.add(new Egress({ mode, allow: config.egress.allow }), (it) => it.close());
  const policyStore = new PolicyStore(mongo);
  const countPolicies = () => policyStore.count(mode);
  const auth = closers.add(await openAuth(mongo, { mode, auth: config.auth, countPolicies, onError, onEmail }), (it) =>
    it.close(),
  );
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
  const checkUrl = (url: string) => egress.checkUrl(url);
  const providers = new Providers({ store: auth.providerStore, transactions, checkUrl, onError });
  const redirects = new RedirectAllowlist({ store: auth.redirectStore, mode, fixed: config.auth.redirects, onError });

  const { queryTimeoutMs } = config.collections;
  const budget = new ByteBudget(byteBudgetLimits(config.held));
  const impersonation = new Impersonation({ ...auth, policies, mode });
  const streamedResponses = new StreamedResponses({
    ...auth,
    policies,
    impersonation,
    openResponses: new OpenResponses({ budget }),
  });
  const registry = new CollectionRegistry(mongo);
  const bounds = openQuotas(mongo, config.quotas);
  const quotas = bounds?.quotas;
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
    ...config.collections,
    quotas,
    hooks,
    cursorKeys: auth.signing.cursors,
  });
  const byFilter = new BulkWrites({ store, registry, atomic, hooks });
  const keys = new IdempotencyStore(mongo);
  await keys.start();
  const idempotency = new Idempotency(keys, atomic);

  const signing = { cursorKeys: auth.signing.cursors, signedUrlKeys: auth.signing.fileUrls };
  const files = closers.add(
    await openFiles(
      { mongo, transactions, quotas, space },
      { ...config.collections, ...config.files, ...signing },
      onError,
    ),
    (it) => it.close(),
  );

  const onLog = createLogCallback({ onError, onAdvice });
  const events = closers.add(await openEvents(mongo, { ...config.events, onLog }), (it) => it.close());
  // What every process caches and updates within a second.
  const held = [policyRegistry, providers, redirects, auth.emailTemplates];
  const reloaders = held.map(({ reloader }) => closers.add(reloader, (it) => it.stop()));
  const readers = [auth, registry, sortIndexes, ...reloaders];
  for (const reader of quotas === undefined ? readers : [...readers, quotas]) {
    const unfollow = events.tail.attach({
      rows: (rows) => reader.applyLogRows(rows),
      lost: () => reader.applyLogRows(null),
    });
    closers.add(unfollow, (it) => it());
  }
  await Promise.all(reloaders.map((it) => it.start(() => events.upToDate())));
  const audit = closers.add(new Audit({ store: new AuditStore(mongo), consumer: events.consumer }), (it) => it.stop());
  await audit.start();

  closers.add(auth.startNotices(events.consumer), (it) => it.stop());

  if (bounds !== undefined) {
    const counting = events.consumer(bounds.reading);
    closers.add(counting, (it) => it.stop());
    counting.start();
  }

  const { publicUrl } = config.server;
  const webhooks = closers.add(
    await openWebhooks({
      mongo,
      transactions,
      auth,
      policies,
      events,
      checkUrl,
      publicUrl,
      makeSender: senderBy(config.webhooks, { mongo, egress, onLog, version: VERSION }),
      onError,
    }),
    (it) => it.close(),
  );

  const functions = closers.add(
    await openFunctions({
      mongo,
      transactions,
      auth,
      policies,
      events,
      config: config.functions,
      writeHooks: hooks,
      isDevelopment: mode === 'development',
      reached: { collections, byFilter, atomic, files: files.files, egress, registry, publicUrl },
      makeSandbox: async (sandboxEvents) => {
        const { IsolateSandbox } = await import('./functions/sandbox/host/isolate-sandbox.ts');
        return new IsolateSandbox(sandboxEvents, { jitless: config.functions.mode === 'jitless' });
      },
      report: mode === 'development' ? onEmail : null,
      onIssue: onAdvice,
      onError,
    }),
    (it) => it.close(),
  );

  const requestRate = new RequestRateLimiter(config.server.rate);
  const realtime = closers.add(
    new Realtime({
      ...config.realtime,
      budget,
      queryTimeoutMs,
      mongo,
      events,
      policies,
      authenticator: auth.authenticator,
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
    providers,
    redirects,
    byProviders: auth.byProviders({ registry: providers, isAllowedRedirect: (it) => redirects.allows(it), egress }),
    requestRate,
    policies,
    policyRegistry,
    impersonation,
    streamedResponses,
    collections,
    byFilter,
    atomic,
    idempotency,
    writeHooks: hooks,
    indexes: new Indexes(mongo, registry, sortIndexes),
    registry,
    catalogue: new CollectionAdmin(mongo, registry),
    files: files.files,
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
    close: () => closers.close(),
  };
}
