/**
 * The identity providers of an installation: changed by owners, and in force in every process within a second. Each
 * version of a provider is one frozen object, so that what is made for it (endpoints, keys) can hang on that object and
 * go with it. Not here: HTTP (admin/provider-routes.ts), signing in.
 */
import type { ClientSession } from 'mongodb';
import type { Stamp } from '../../database/system-collection.ts';
import type { Transactions } from '../../database/transactions.ts';
import { Reloader } from '../../kernel/concurrency/reloader.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { type CheckUrl, type Provider, parseProvider, toProvider, toShownProvider } from './provider.ts';
import type { ProviderBody } from './provider-schema.ts';
import { type KeptProvider, PROVIDERS_COLLECTION, type ProviderStore } from './provider-store.ts';
import { checkWrittenMetadata } from './saml-faults.ts';

const MAX_PROVIDERS = 100;

export interface ProvidersParts {
  readonly store: ProviderStore;
  readonly transactions: Pick<Transactions, 'run'>;
  readonly checkUrl: CheckUrl;
  /** Called with the reason why a provider, or all of them, cannot be read. */
  readonly onError: (error: unknown) => void;
}

/** A provider as answers show it, and its version. */
export interface Shown {
  readonly provider: ProviderBody;
  readonly version: string;
}

/** Asked of the version that a change would replace; null when there is none. It throws to refuse the change. */
export type VersionCondition = (version: string | null) => void;

export class Providers {
  readonly #parts: ProvidersParts;
  readonly reloader: Reloader;
  #inForce: ReadonlyMap<string, Provider> = new Map();

  constructor(parts: ProvidersParts) {
    this.#parts = parts;
    this.reloader = new Reloader({
      read: () => this.#read(),
      concerns: (collection) => collection === PROVIDERS_COLLECTION,
      onError: parts.onError,
    });
  }

  /** The provider of this name, enabled or not. */
  get(name: string): Provider | undefined {
    return this.#inForce.get(name);
  }

  /**
   * The provider of this name, enabled or not. The database is asked when this process knows none of this name, or another
   * version than the wanted one: the process that a sign-in began at may have been told of a change first.
   */
  async find(name: string, version?: string): Promise<Provider | undefined> {
    const known = this.#inForce.get(name);
    if (known !== undefined && (version === undefined || version === known.version)) return known;
    await this.reloader.reload();
    return this.#inForce.get(name);
  }

  /**
   * The provider as it is in the database at this moment.
   * @throws MillraceError `provider-not-found`, also when it cannot be used as it is kept
   */
  async latest(name: string): Promise<Provider> {
    await this.reloader.reload();
    return this.#inForce.get(name) ?? missing(name);
  }

  /** Those that people can sign in by, in the order of their names. */
  enabled(): readonly Provider[] {
    return [...this.#inForce.values()].filter(({ enabled }) => enabled);
  }

  async list(): Promise<readonly Shown[]> {
    const kept = await this.#parts.transactions.run((session) => this.#parts.store.all(session));
    return kept.map(toShown);
  }

  /** @throws MillraceError `provider-not-found` */
  async show(name: string): Promise<Shown> {
    return toShown(await this.#parts.transactions.run((session) => this.#existing(name, session)));
  }

  /** @throws MillraceError `invalid-body`, `provider-exists` */
  async create(body: unknown, stamp: Stamp): Promise<Shown> {
    const { store, checkUrl } = this.#parts;
    const { written, secrets } = parseProvider(body, null, checkUrl);
    await checkWrittenMetadata(written, checkUrl);
    return this.#change(written.name, async (session) => {
      const all = await store.all(session);
      if (all.some((one) => one.written.name === written.name)) {
        throw new MillraceError('provider-exists', `A provider '${written.name}' exists already`, {
          hint: 'PUT changes it',
        });
      }
      if (all.length >= MAX_PROVIDERS) {
        throw new MillraceError('invalid-body', `There are ${MAX_PROVIDERS} providers already`);
      }
      await store.save(null, written, secrets, stamp, session);
    });
  }

  /** @throws MillraceError `provider-not-found`, `invalid-body`, and what the condition throws */
  async replace(name: string, body: unknown, condition: VersionCondition, stamp: Stamp): Promise<Shown> {
    const { store, checkUrl } = this.#parts;
    return this.#change(name, async (session) => {
      const before = await this.#existing(name, session, condition);
      const { written, secrets } = parseProvider(body, { ...before, secrets: before.openSecrets() }, checkUrl);
      await checkWrittenMetadata(written, checkUrl);
      await store.save(before, written, secrets, stamp, session);
    });
  }

  /** @throws MillraceError `provider-not-found`, and what the condition throws */
  async remove(name: string, condition: VersionCondition, stamp: Stamp): Promise<void> {
    const { store, transactions } = this.#parts;
    await transactions.run(async (session) => {
      await this.#existing(name, session, condition);
      await store.remove(name, stamp, session);
    });
    await this.reloader.reload();
  }

  /** The change is in force here when this resolves; other processes hear of it from the event log. */
  async #change(name: string, change: (session: ClientSession) => Promise<void>): Promise<Shown> {
    const changed = await this.#parts.transactions.run(async (session) => {
      await change(session);
      return this.#existing(name, session);
    });
    await this.reloader.reload();
    return toShown(changed);
  }

  async #existing(name: string, session: ClientSession, condition: VersionCondition = () => {}): Promise<KeptProvider> {
    const found = await this.#parts.store.find(name, session);
    condition(found?.version ?? null);
    return found ?? missing(name);
  }

  async #read(): Promise<void> {
    const { store, transactions, checkUrl, onError } = this.#parts;
    const kept = await transactions.run((session) => store.all(session));
    const inForce = kept.flatMap((one): readonly Provider[] => {
      const current = this.#inForce.get(one.written.name);
      if (current?.version === one.version) return [current];
      try {
        const secrets = one.openSecrets();
        // Another program may have written what an owner may not, or another mode may have allowed it.
        const { written } = parseProvider(one.written, { written: one.written, secrets }, checkUrl);
        return [toProvider(written, secrets, one.version)];
      } catch (error) {
        onError(new Error(`The provider '${one.written.name}' cannot be used`, { cause: error }));
        return [];
      }
    });
    this.#inForce = new Map(inForce.map((one) => [one.name, one]));
  }
}

function toShown({ written, secretNames, version }: KeptProvider): Shown {
  return { provider: toShownProvider(written, secretNames), version };
}

function missing(name: string): never {
  throw new MillraceError('provider-not-found', `There is no provider '${name.slice(0, 80)}'`);
}
