/**
 * The identity providers of an instance: changed by administrators, and active in every process within a second. Each
 * version of a provider is one frozen object, so that what is cached for it (endpoints, keys) is dropped with it.
 */
import type { ClientSession } from 'mongodb';
import type { ChangeStamp } from '../../database/system-collection.ts';
import type { Transactions } from '../../database/transactions.ts';
import { Reloader } from '../../lib/concurrency/reloader.ts';
import { MillraceError } from '../../lib/errors.ts';
import { type CheckUrl, type Provider, parseProvider, toProvider, toProviderView } from './provider.ts';
import type { ProviderBody } from './provider-schema.ts';
import { PROVIDERS_COLLECTION, type ProviderRecord, type ProviderStore } from './provider-store.ts';
import { checkSamlMetadata } from './saml-validation.ts';

const MAX_PROVIDERS = 100;

export interface ProvidersDeps {
  readonly store: ProviderStore;
  readonly transactions: Pick<Transactions, 'run'>;
  readonly checkUrl: CheckUrl;
  /** Called with the reason why a provider, or all of them, cannot be read. */
  readonly onError: (error: unknown) => void;
}

/** A provider in responses, and its version. */
export interface VersionedProvider {
  readonly provider: ProviderBody;
  readonly version: string;
}

/** Called with the version that a change would replace; null when there is none. It throws to reject the change. */
export type CheckProviderVersion = (version: string | null) => void;

export class Providers {
  readonly #deps: ProvidersDeps;
  readonly reloader: Reloader;
  #activeNow: ReadonlyMap<string, Provider> = new Map();

  constructor(deps: ProvidersDeps) {
    this.#deps = deps;
    this.reloader = new Reloader({
      read: () => this.#read(),
      concerns: (collection) => collection === PROVIDERS_COLLECTION,
      onError: deps.onError,
    });
  }

  /** The provider of this name, enabled or not. */
  get(name: string): Provider | undefined {
    return this.#activeNow.get(name);
  }

  /**
   * The provider of this name, enabled or not. Reads the database when this process has none of this name, or another
   * version than the wanted one: the process that started a sign-in may have received a change first.
   */
  async find(name: string, version?: string): Promise<Provider | undefined> {
    const known = this.#activeNow.get(name);
    if (known !== undefined && (version === undefined || version === known.version)) return known;
    await this.reloader.reload();
    return this.#activeNow.get(name);
  }

  /**
   * The provider as it is in the database now.
   * @throws MillraceError `provider-not-found`, also when its stored form cannot be used
   */
  async latest(name: string): Promise<Provider> {
    await this.reloader.reload();
    return this.#activeNow.get(name) ?? missing(name);
  }

  /** The providers available for sign-in, in the order of their names. */
  enabled(): readonly Provider[] {
    return [...this.#activeNow.values()].filter(({ enabled }) => enabled);
  }

  async list(): Promise<readonly VersionedProvider[]> {
    const kept = await this.#deps.transactions.run((session) => this.#deps.store.all(session));
    return kept.map(toShown);
  }

  /** @throws MillraceError `provider-not-found` */
  async show(name: string): Promise<VersionedProvider> {
    return toShown(await this.#deps.transactions.run((session) => this.#existing(name, session)));
  }

  /** @throws MillraceError `invalid-body`, `provider-exists` */
  async create(body: unknown, stamp: ChangeStamp): Promise<VersionedProvider> {
    const { store, checkUrl } = this.#deps;
    const { written, secrets } = parseProvider(body, null, checkUrl);
    await checkSamlMetadata(written, checkUrl);
    return this.#change(written.name, async (session) => {
      const all = await store.all(session);
      if (all.some((one) => one.written.name === written.name)) {
        throw new MillraceError('provider-exists', `A provider '${written.name}' already exists`, {
          hint: 'PUT changes it',
        });
      }
      if (all.length >= MAX_PROVIDERS) {
        throw new MillraceError('invalid-body', `There are already ${MAX_PROVIDERS} providers`);
      }
      await store.save(null, written, secrets, stamp, session);
    });
  }

  /** @throws MillraceError `provider-not-found`, `invalid-body`, and what the condition throws */
  async replace(
    name: string,
    body: unknown,
    condition: CheckProviderVersion,
    stamp: ChangeStamp,
  ): Promise<VersionedProvider> {
    const { store, checkUrl } = this.#deps;
    return this.#change(name, async (session) => {
      const before = await this.#existing(name, session, condition);
      const { written, secrets } = parseProvider(body, { ...before, secrets: before.decryptSecrets() }, checkUrl);
      await checkSamlMetadata(written, checkUrl);
      await store.save(before, written, secrets, stamp, session);
    });
  }

  /** @throws MillraceError `provider-not-found`, and what the condition throws */
  async remove(name: string, condition: CheckProviderVersion, stamp: ChangeStamp): Promise<void> {
    const { store, transactions } = this.#deps;
    await transactions.run(async (session) => {
      await this.#existing(name, session, condition);
      await store.remove(name, stamp, session);
    });
    await this.reloader.reload();
  }

  /** The change is active here when this resolves; other processes learn of it from the event log. */
  async #change(name: string, change: (session: ClientSession) => Promise<void>): Promise<VersionedProvider> {
    const changed = await this.#deps.transactions.run(async (session) => {
      await change(session);
      return this.#existing(name, session);
    });
    await this.reloader.reload();
    return toShown(changed);
  }

  async #existing(
    name: string,
    session: ClientSession,
    condition: CheckProviderVersion = () => {},
  ): Promise<ProviderRecord> {
    const found = await this.#deps.store.find(name, session);
    condition(found?.version ?? null);
    return found ?? missing(name);
  }

  async #read(): Promise<void> {
    const { store, transactions, checkUrl, onError } = this.#deps;
    const kept = await transactions.run((session) => store.all(session));
    const activeNow = kept.flatMap((one): readonly Provider[] => {
      const current = this.#activeNow.get(one.written.name);
      if (current?.version === one.version) return [current];
      try {
        const secrets = one.decryptSecrets();
        // Another program may have written what an administrator cannot, or another mode may have allowed it.
        const { written } = parseProvider(one.written, { written: one.written, secrets }, checkUrl);
        return [toProvider(written, secrets, one.version)];
      } catch (error) {
        onError(new Error(`The provider '${one.written.name}' cannot be used`, { cause: error }));
        return [];
      }
    });
    this.#activeNow = new Map(activeNow.map((one) => [one.name, one]));
  }
}

function toShown({ written, secretNames, version }: ProviderRecord): VersionedProvider {
  return { provider: toProviderView(written, secretNames), version };
}

function missing(name: string): never {
  throw new MillraceError('provider-not-found', `There is no provider '${name.slice(0, 80)}'`);
}
