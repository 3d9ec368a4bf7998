/**
 * All services of one process, made floor by floor from the configuration. What is started here is stopped here, in
 * reverse order. Not here: HTTP (app.ts) and the process itself (main.ts).
 */
import { createSecretKey } from 'node:crypto';
import { Audit } from './admin/audit.ts';
import { AuditStore } from './admin/audit-store.ts';
import type { Authenticator } from './auth/authenticator.ts';
import { type AuthParts, openAuth } from './auth/open-auth.ts';
import { Atomic } from './collections/atomic.ts';
import { ByFilter } from './collections/bulk-writes.ts';
import { Catalogue } from './collections/catalogue.ts';
import { Collections } from './collections/collections.ts';
import { Idempotency } from './collections/http/idempotency.ts';
import { KeyStore } from './collections/http/key-store.ts';
import { Indexes } from './collections/indexes.ts';
import { Registry } from './collections/registry.ts';
import { Store } from './collections/store/store.ts';
import { type Mongo, mayNot, openMongo } from './database/mongo.ts';
import { isCollectionName } from './database/names.ts';
import { sharedSecret } from './database/secrets.ts';
import { Transactions } from './database/transactions.ts';
import { type EventParts, openEvents } from './events/open-events.ts';
import type { Files } from './files/files.ts';
import { openFiles } from './files/open-files.ts';
import type { Config } from './kernel/config.ts';
import { MillraceError } from './kernel/errors.ts';
import { Policies } from './policies/policies.ts';
import { PolicyBook } from './policies/policy-book.ts';
import { PolicyStore } from './policies/policy-store.ts';
import { Realtime } from './realtime/realtime.ts';

export interface Parts {
  readonly config: Config;
  readonly mongo: Mongo;
  readonly auth: AuthParts;
  /** The same as `auth.authenticator`. */
  readonly authenticator: Authenticator;
  readonly policies: Policies;
  readonly policyBook: PolicyBook;
  readonly collections: Collections;
  readonly byFilter: ByFilter;
  readonly atomic: Atomic;
  readonly idempotency: Idempotency;
  readonly indexes: Indexes;
  readonly registry: Registry;
  readonly catalogue: Catalogue;
  readonly files: Files;
  readonly events: EventParts;
  readonly audit: Audit;
  readonly realtime: Realtime;
  /** Resolves when the parts can serve requests; rejects when not. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param url connection string of the database, once it is known where it runs
 * @param onLetter shows a letter to whoever sits at the terminal, in development mode
 * @param onError told what went wrong in the background, where no request can be answered with it
 * @throws UnusableDatabase when the server cannot carry Millrace, ConfigError when a store of files cannot be used
 */
export async function makeParts(
  config: Config,
  url: string,
  onError: (error: unknown) => void = () => undefined,
  onLetter: (text: string) => void = () => undefined,
): Promise<Parts> {
  const settings = { url, database: config.database.name };
  const mongo = await openMongo(settings);
  return makeOn(mongo, config, onError, onLetter).catch((error: unknown) => {
    throw mayNot(error, settings) ?? error;
  });
}

async function makeOn(
  mongo: Mongo,
  config: Config,
  onError: (error: unknown) => void,
  onLetter: (text: string) => void,
): Promise<Parts> {
  const transactions = new Transactions(mongo);
  await transactions.start();

  const policyStore = new PolicyStore(mongo);
  const countPolicies = () => policyStore.count(config.mode);
  const auth = await openAuth(mongo, { mode: config.mode, auth: config.auth, countPolicies, onError, onLetter }).catch(
    async (error: unknown) => {
      await transactions.stop();
      await mongo.close();
      throw error;
    },
  );
  const policies = new Policies(config.mode);
  const policyBook = new PolicyBook({
    store: policyStore,
    policies,
    transactions,
    mode: config.mode,
    owned: () => auth.owners.exists(),
    onError,
  });
  // Before events are recorded: what a new installation begins with is no change.
  await policyBook.start();

  const { queryTimeoutMs, listTimeoutMs } = config.collections;
  const registry = new Registry(mongo);
  const atomic = new Atomic(transactions, registry);
  const store = new Store(mongo, queryTimeoutMs);
  const collections = new Collections({
    store,
    registry,
    atomic,
    queryTimeoutMs,
    listTimeoutMs,
    cursorKey: createSecretKey(await sharedSecret(mongo, 'cursors')),
  });
  const byFilter = new ByFilter({ store, registry, atomic });
  const keys = new KeyStore(mongo);
  await keys.start();
  const idempotency = new Idempotency(keys, atomic);

  const files = await openFiles({ mongo, transactions }, { ...config.collections, ...config.files }, onError);

  const events = await openEvents(mongo, {
    ...config.events,
    onNote: (level, message, details) => {
      if (level !== 'info') onError(new Error(`${message}: ${JSON.stringify(details)}`));
    },
  });
  const unfollow = events.tail.attach({ rows: (rows) => auth.follow(rows), lost: () => auth.follow(null) });
  const audit = new Audit({ store: new AuditStore(mongo), consumer: events.consumer });
  await audit.start();

  events.tail.attach({
    rows: (rows) => {
      for (const { operation, collection } of rows) {
        const gone = operation === 'drop' || operation === 'rename';
        if (gone && collection !== null && isCollectionName(collection)) registry.forget(collection);
      }
    },
  });
  const reread = () => void policyBook.reload();
  events.tail.attach({
    rows: (rows) => {
      if (rows.some(({ collection }) => collection === '_policies' || collection === null)) reread();
    },
    lost: reread,
  });
  // Only now: a change made before the log was followed is read here, and every later one is told.
  await policyBook.reload();

  const realtime = new Realtime({
    ...config.realtime,
    queryTimeoutMs,
    mongo,
    events,
    policies,
    authenticator: auth.authenticator,
    onError,
  });

  return {
    config,
    mongo,
    auth,
    authenticator: auth.authenticator,
    policies,
    policyBook,
    collections,
    byFilter,
    atomic,
    idempotency,
    indexes: new Indexes(mongo, registry),
    registry,
    catalogue: new Catalogue(mongo, registry),
    files: files.files,
    events,
    audit,
    realtime,
    ready: async () => {
      await mongo.log.command({ ping: 1 }, { timeoutMS: 2_000 });
      if (!events.recorder.working || !events.tail.healthy)
        throw new MillraceError('database-unavailable', 'The event log is not being followed');
    },
    close: async () => {
      await realtime.close();
      unfollow();
      await audit.stop();
      await events.close();
      await policyBook.stop();
      await auth.close();
      await files.close();
      await transactions.stop();
      await mongo.close();
    },
  };
}
