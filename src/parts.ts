/**
 * All services of one process, made floor by floor from the configuration. What is started here is stopped here, in
 * reverse order. Not here: HTTP (app.ts) and the process itself (main.ts).
 */
import { Audit } from './admin/audit.ts';
import { AuditStore } from './admin/audit-store.ts';
import { type AuthParts, openAuth } from './auth/open-auth.ts';
import type { ByProviders } from './auth/open-flows.ts';
import { Providers } from './auth/providers/providers.ts';
import { Redirects } from './auth/providers/redirects.ts';
import { RequestRate } from './auth/request-rate.ts';
import { Atomic } from './collections/atomic.ts';
import { BulkWrites } from './collections/bulk-writes.ts';
import { Catalogue } from './collections/catalogue.ts';
import { Collections } from './collections/collections.ts';
import { Idempotency } from './collections/http/idempotency.ts';
import { KeyStore } from './collections/http/key-store.ts';
import { Indexes } from './collections/indexes.ts';
import { Registry } from './collections/registry.ts';
import { BoundedStore } from './collections/store/bounded-store.ts';
import { MissingIndexes } from './collections/store/missing-indexes.ts';
import { SortIndexes } from './collections/store/sort-indexes.ts';
import { DocumentStore } from './collections/store/store.ts';
import { LateHooks } from './collections/write-hooks.ts';
import { type Mongo, mayNot, openMongo } from './database/mongo.ts';
import { Transactions } from './database/transactions.ts';
import { Egress } from './egress/egress.ts';
import { type NoteTargets, noteTo } from './events/log/note.ts';
import { type EventParts, openEvents } from './events/open-events.ts';
import type { Files } from './files/files.ts';
import { openFiles } from './files/open-files.ts';
import { type FunctionParts, openFunctions } from './functions/open-functions.ts';
import { VERSION } from './greeting.ts';
import { OpenAnswers } from './kernel/answers/open-answers.ts';
import { Closers } from './kernel/closers.ts';
import type { Config } from './kernel/config/config.ts';
import type { DiskSpace } from './kernel/disk-space.ts';
import { MillraceError } from './kernel/errors.ts';
import { ByteBudget, byteBounds } from './kernel/memory/byte-budget.ts';
import { Policies } from './policies/policies.ts';
import { PolicyBook } from './policies/policy-book.ts';
import { PolicyStore } from './policies/policy-store.ts';
import { LongAnswers } from './policies/standing/long-answers.ts';
import { LookingAs } from './policies/standing/looking-as.ts';
import { openQuotas } from './quotas/open-quotas.ts';
import { Realtime } from './realtime/realtime.ts';
import { senderBy } from './webhooks/open-sender.ts';
import { openWebhooks, type WebhookParts } from './webhooks/open-webhooks.ts';

export interface Parts {
  readonly config: Config;
  readonly mongo: Mongo;
  readonly space: DiskSpace | undefined;
  readonly auth: AuthParts;
  /** The way to servers that data names. */
  readonly egress: Egress;
  readonly providers: Providers;
  readonly redirects: Redirects;
  readonly byProviders: ByProviders;
  /** How many requests a minute clients may make, over HTTP and over sockets. */
  readonly requestRate: RequestRate;
  readonly policies: Policies;
  readonly policyBook: PolicyBook;
  readonly lookingAs: LookingAs;
  readonly longAnswers: LongAnswers;
  readonly collections: Collections;
  readonly byFilter: BulkWrites;
  readonly atomic: Atomic;
  readonly idempotency: Idempotency;
  /** Where functions see writes before they are made. */
  readonly writeHooks: LateHooks;
  readonly indexes: Indexes;
  readonly registry: Registry;
  readonly catalogue: Catalogue;
  readonly files: Files;
  readonly events: EventParts;
  readonly audit: Audit;
  readonly webhooks: WebhookParts;
  readonly functions: FunctionParts;
  readonly realtime: Realtime;
  /** Resolves when the parts can serve requests; rejects when not. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens everything in order. A start that fails closes what it had opened.
 * @param url connection string of the database
 * @param onError called with errors of background work, which no request can be answered with; no more once the start failed
 * @param onLetter shows letters and runs of functions at the terminal, in development mode
 * @param onAdvice called with what those who run the server could improve, and with faults after which work goes on
 * @param space the space of the embedded database, if that is the database
 * @throws UnusableDatabase when the server cannot carry Millrace, ConfigError when a store of files cannot be used
 */
export async function makeParts(
  config: Config,
  url: string,
  onError: (error: unknown) => void = () => undefined,
  onLetter: (text: string) => void = () => undefined,
  onAdvice: (text: string) => void = () => undefined,
  space?: DiskSpace,
): Promise<Parts> {
  const settings = { url, database: config.database.name };
  const closers = new Closers();
  let hasFailed = false;
  // What the closing of a failed start interrupts would stand before the one error that matters.
  const report = (error: unknown) => void (hasFailed || onError(error));
  const advise = (text: string) => void (hasFailed || onAdvice(text));
  try {
    const mongo = closers.add(await openMongo(settings), (it) => it.close());
    return await makeOn(mongo, closers, config, { onError: report, onLetter, onAdvice: advise, space });
  } catch (error) {
    hasFailed = true;
    await closers.close().catch(() => undefined);
    throw mayNot(error, settings) ?? error;
  }
}

async function makeOn(
  mongo: Mongo,
  closers: Closers,
  config: Config,
  { onError, onLetter, onAdvice, space }: NoteTargets & { onLetter(text: string): void; space?: DiskSpace | undefined },
): Promise<Parts> {
  const { mode } = config;
  const transactions = closers.add(new Transactions(mongo), (it) => it.stop());
  await transactions.start();

  const egress = closers.add(new Egress({ mode, allow: config.egress.allow }), (it) => it.close());
  const policyStore = new PolicyStore(mongo);
  const countPolicies = () => policyStore.count(mode);
  const auth = closers.add(await openAuth(mongo, { mode, auth: config.auth, countPolicies, onError, onLetter }), (it) =>
    it.close(),
  );
  const policies = new Policies(mode);
  const policyBook = new PolicyBook({
    store: policyStore,
    policies,
    transactions,
    mode,
    owned: () => auth.owners.exists(),
    onError,
  });
  await policyBook.prepare();
  const checkUrl = (url: string) => egress.checkUrl(url);
  const providers = new Providers({ store: auth.providerStore, transactions, checkUrl, onError });
  const redirects = new Redirects({ store: auth.redirectStore, mode, fixed: config.auth.redirects, onError });

  const { queryTimeoutMs } = config.collections;
  const budget = new ByteBudget(byteBounds(config.held));
  const lookingAs = new LookingAs({ ...auth, policies, mode });
  const longAnswers = new LongAnswers({ ...auth, policies, lookingAs, openAnswers: new OpenAnswers({ budget }) });
  const registry = new Registry(mongo);
  const bounds = openQuotas(mongo, config.quotas);
  const quotas = bounds?.quotas;
  const atomic = new Atomic(transactions, registry);
  const store = space ? new BoundedStore(mongo, queryTimeoutMs, space) : new DocumentStore(mongo, queryTimeoutMs);
  const sortIndexes = new SortIndexes(mongo);
  const hooks = new LateHooks();
  const collections = new Collections({
    store,
    sortIndexes,
    missingIndexes: new MissingIndexes({ mongo, sortIndexes, onAdvice }),
    registry,
    atomic,
    ...config.collections,
    quotas,
    hooks,
    cursorKeys: auth.signing.cursors,
  });
  const byFilter = new BulkWrites({ store, registry, atomic, hooks });
  const keys = new KeyStore(mongo);
  await keys.start();
  const idempotency = new Idempotency(keys, atomic);

  const signing = { cursorKeys: auth.signing.cursors, addressKeys: auth.signing.fileAddresses };
  const files = closers.add(
    await openFiles(
      { mongo, transactions, quotas, space },
      { ...config.collections, ...config.files, ...signing },
      onError,
    ),
    (it) => it.close(),
  );

  const onNote = noteTo({ onError, onAdvice });
  const events = closers.add(await openEvents(mongo, { ...config.events, onNote }), (it) => it.close());
  // What every process holds in memory and keeps in force within a second.
  const held = [policyBook, providers, redirects, auth.letterTemplates];
  const reloaders = held.map(({ reloader }) => closers.add(reloader, (it) => it.stop()));
  const readers = [auth, registry, sortIndexes, ...reloaders];
  for (const reader of quotas === undefined ? readers : [...readers, quotas]) {
    const unfollow = events.tail.attach({ rows: (rows) => reader.follow(rows), lost: () => reader.follow(null) });
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
      makeSender: senderBy(config.webhooks, { mongo, egress, onNote, version: VERSION }),
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
      tell: mode === 'development' ? onLetter : null,
      onFault: onAdvice,
      onError,
    }),
    (it) => it.close(),
  );

  const requestRate = new RequestRate(config.server.rate);
  const realtime = closers.add(
    new Realtime({
      ...config.realtime,
      budget,
      queryTimeoutMs,
      mongo,
      events,
      policies,
      authenticator: auth.authenticator,
      lookingAs,
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
    byProviders: auth.byProviders({ book: providers, isAllowedRedirect: (it) => redirects.allows(it), egress }),
    requestRate,
    policies,
    policyBook,
    lookingAs,
    longAnswers,
    collections,
    byFilter,
    atomic,
    idempotency,
    writeHooks: hooks,
    indexes: new Indexes(mongo, registry, sortIndexes),
    registry,
    catalogue: new Catalogue(mongo, registry),
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
