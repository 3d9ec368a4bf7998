/**
 * The endpoints of an installation: written by requests, and in force in every process within a second, where the sender is
 * told of each. Not here: HTTP (http/), and which events an endpoint gets (planning/).
 */
import type { ClientSession } from 'mongodb';
import type { Activity } from '../../database/activity.ts';
import { ITSELF, type Stamp } from '../../database/system-collection.ts';
import type { Transactions } from '../../database/transactions.ts';
import type { Egress } from '../../egress/egress.ts';
import { Reloader } from '../../kernel/concurrency/reloader.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { type DisabledReason, type EndpointTarget, MAX_ENDPOINTS, type Maker, type Via } from './endpoint.ts';
import { blanked, checkKept, type EndpointRules, parseChange, parseNewEndpoint } from './endpoint-rules.ts';
import type { EndpointStore, KeptEndpoint } from './endpoint-store.ts';
import { newSecret, rotated } from './signing-secrets.ts';
import { ENDPOINTS_COLLECTION, type StoredEndpoint } from './stored-endpoint.ts';

/** What the sender is told of endpoints; it is in a folder above. */
export interface EndpointListener {
  ensureEndpoint(target: EndpointTarget): Promise<void>;
  removeEndpoint(id: string): Promise<void>;
  headerFault(name: string): string | null;
}

export interface EndpointsParts {
  readonly store: EndpointStore;
  readonly transactions: Pick<Transactions, 'run'>;
  readonly activity: Pick<Activity, 'record'>;
  readonly sender: EndpointListener;
  readonly checkUrl: Egress['checkUrl'];
  /** Called with the reason why an endpoint, or all of them, cannot be read. */
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** An endpoint as answers show it, without its health, and its version. */
export interface ShownEndpoint {
  readonly endpoint: {
    readonly id: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly createdAt: Date | null;
    readonly updatedAt: Date | null;
    readonly via: Via | null;
  } & Omit<StoredEndpoint, '_id' | 'headers' | 'via' | '_meta'>;
  readonly version: string;
}

/** Asked of the version that a change would replace. It throws to refuse the change. */
export type EndpointCondition = (version: string) => void;

/** A change by a request. */
export interface EndpointChange {
  readonly id: string;
  /** The one maker whose endpoints may be changed; null for those of all. */
  readonly of: Maker | null;
  readonly condition?: EndpointCondition;
  readonly stamp: Stamp;
}

export class Endpoints {
  readonly #parts: EndpointsParts;
  /** Puts changes of every process in force in this one, and tells the sender of them. */
  readonly reloader: Reloader;
  readonly #now: () => number;
  readonly #rules: EndpointRules;
  #inForce: ReadonlyMap<string, { readonly version: string; readonly target: EndpointTarget | null }> = new Map();

  constructor(parts: EndpointsParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
    const { checkUrl, sender } = parts;
    this.#rules = { checkUrl, headerFault: (name) => sender.headerFault(name) };
    this.reloader = new Reloader({
      read: () => this.#read(),
      concerns: (collection) => collection === ENDPOINTS_COLLECTION,
      onError: parts.onError,
    });
  }

  /** The endpoints that are in force in this process, as the sender was told of them. */
  inForce(): readonly EndpointTarget[] {
    return [...this.#inForce.values()].flatMap(({ target }) => target ?? []);
  }

  /** Ids of all endpoints in the database. */
  async storedIds(): Promise<readonly string[]> {
    const { store, transactions } = this.#parts;
    return (await transactions.run((session) => store.all(session))).map(({ id }) => id);
  }

  /** An endpoint as it is in the database; null when it is gone or cannot be used. */
  async stored(id: string): Promise<EndpointTarget | null> {
    const { store, transactions } = this.#parts;
    const found = await transactions.run((session) => store.find(id, session));
    return found === null ? null : this.#target(found);
  }

  /** The oldest first. @param of the one maker of them; null for those of all */
  async list(of: Maker | null): Promise<readonly ShownEndpoint[]> {
    const { store, transactions } = this.#parts;
    const kept = await transactions.run((session) => store.all(session, of ?? undefined));
    return kept.map(toShown);
  }

  /** @throws MillraceError `endpoint-not-found`, also for one of another maker */
  async show(id: string, of: Maker | null): Promise<ShownEndpoint> {
    return toShown(await this.#parts.transactions.run((session) => this.#existing(id, of, session)));
  }

  /** Ids of the endpoints of one maker. */
  idsOf(maker: Maker): Promise<readonly string[]> {
    return this.#parts.store.idsOf(maker);
  }

  /**
   * Makes an endpoint. It is in force here when this resolves; other processes hear of it from the event log.
   * @param via for one that an automation service makes
   * @returns the endpoint, and its secret, which no later answer shows
   * @throws MillraceError `body-required`, `invalid-body`, `invalid-endpoint`, `too-many-endpoints`
   */
  async create(
    body: unknown,
    maker: Maker,
    stamp: Stamp,
    via?: Via,
  ): Promise<{ readonly shown: ShownEndpoint; readonly secret: string }> {
    const { store } = this.#parts;
    const { written, headers, secret } = parseNewEndpoint(body, this.#rules);
    const shown = await this.#change(async (session) => {
      if ((await store.countAlone(session)) >= MAX_ENDPOINTS) {
        throw new MillraceError('too-many-endpoints', `There are ${MAX_ENDPOINTS} endpoints already`);
      }
      return store.insert(
        written,
        { secrets: [{ secret, until: null }], headers },
        { principal: maker, via },
        stamp,
        session,
      );
    });
    return { shown, secret };
  }

  /**
   * Applies a merge patch (RFC 7396).
   * @throws MillraceError `endpoint-not-found`, `body-type`, `invalid-body`, `invalid-endpoint`, what the condition throws
   */
  change(patch: unknown, { stamp, ...change }: EndpointChange): Promise<ShownEndpoint> {
    const { store, activity } = this.#parts;
    return this.#change(async (session) => {
      const before = await this.#changed(change, session);
      const { secrets, headers: kept } = before.open();
      const { written, headers } = parseChange(patch, { written: before.written, headers: kept }, this.#rules);
      await store.save(before, written, { secrets, headers }, stamp, session);
      if (before.written.enabled && !written.enabled) {
        await activity.record('system.endpoint.disabled', { endpoint: before.id, reason: 'owner' }, stamp, session);
      }
      return before.id;
    });
  }

  /** @throws MillraceError `endpoint-not-found`, what the condition throws */
  async remove({ stamp, ...change }: EndpointChange): Promise<void> {
    const { store, transactions } = this.#parts;
    await transactions.run(async (session) => {
      const { id } = await this.#changed(change, session);
      await store.remove(id, stamp, session);
    });
    await this.reloader.reload();
  }

  /** Removes the endpoints of one maker. @returns how many there were */
  async removeOf(maker: Maker, stamp: Stamp): Promise<number> {
    const { store, transactions } = this.#parts;
    const ids = await store.idsOf(maker);
    if (ids.length === 0) return 0;
    await transactions.run(async (session) => {
      for (const id of ids) await store.remove(id, stamp, session);
    });
    await this.reloader.reload();
    return ids.length;
  }

  /**
   * Gives an endpoint a new secret. Those that it had still sign for the grace time.
   * @param graceMs milliseconds
   * @returns the new secret, which no later answer shows, and when each of the others ceases to sign, the newest first
   * @throws MillraceError `endpoint-not-found`
   */
  async rotate(
    graceMs: number,
    { stamp, ...change }: EndpointChange,
  ): Promise<{ readonly secret: string; readonly expires: readonly Date[] }> {
    const { store } = this.#parts;
    const secret = newSecret();
    let expires: readonly Date[] = [];
    await this.#change(async (session) => {
      const before = await this.#changed(change, session);
      const { secrets: known, headers } = before.open();
      const secrets = rotated(known, secret, graceMs, this.#now());
      expires = secrets.flatMap(({ until }) => (until === null ? [] : new Date(until)));
      await store.save(before, before.written, { secrets, headers }, stamp, session);
      return before.id;
    });
    return { secret, expires };
  }

  /**
   * Disables an endpoint by what the program found out itself, and records that. One that is disabled keeps its reason.
   * @returns false when it was disabled already, or is gone
   */
  async disable(id: string, reason: DisabledReason): Promise<boolean> {
    const { store, transactions, activity } = this.#parts;
    const disabled = await transactions.run(async (session) => {
      if (!(await store.disable(id, reason, ITSELF, session))) return false;
      await activity.record('system.endpoint.disabled', { endpoint: id, reason }, ITSELF, session);
      return true;
    });
    if (disabled) await this.reloader.reload();
    return disabled;
  }

  async #change(change: (session: ClientSession) => Promise<string>): Promise<ShownEndpoint> {
    const changed = await this.#parts.transactions.run(async (session) =>
      this.#existing(await change(session), null, session),
    );
    await this.reloader.reload();
    return toShown(changed);
  }

  async #changed({ id, of, condition }: Omit<EndpointChange, 'stamp'>, session: ClientSession): Promise<KeptEndpoint> {
    const found = await this.#existing(id, of, session);
    condition?.(found.version);
    return found;
  }

  async #existing(id: string, of: Maker | null, session: ClientSession): Promise<KeptEndpoint> {
    const found = await this.#parts.store.find(id, session);
    const maker = found?.principal;
    if (found !== null && (of === null || (maker?.kind === of.kind && maker.id === of.id))) return found;
    throw new MillraceError('endpoint-not-found', `There is no endpoint '${id.slice(0, 80)}'`);
  }

  /** What the sender was told stays known only once it took it, so that a failed telling is repeated. */
  async #read(): Promise<void> {
    const { store, transactions, sender } = this.#parts;
    const kept = await transactions.run((session) => store.all(session));
    const inForce = new Map(this.#inForce);
    const keep = () => {
      this.#inForce = new Map(inForce);
    };
    const ids = new Set(kept.map(({ id }) => id));
    for (const id of inForce.keys()) {
      if (ids.has(id)) continue;
      await sender.removeEndpoint(id);
      inForce.delete(id);
      keep();
    }
    for (const one of kept) {
      const known = inForce.get(one.id);
      if (known?.version === one.version) continue;
      const target = this.#target(one);
      // One that cannot be used stays as the sender knows it: its deliveries must not be discarded.
      if (target !== null) await sender.ensureEndpoint(target);
      inForce.set(one.id, { version: one.version, target: target ?? known?.target ?? null });
      keep();
    }
  }

  #target({ id, written, version: _, open }: KeptEndpoint): EndpointTarget | null {
    const { checkUrl, onError } = this.#parts;
    try {
      const { secrets, headers } = open();
      // Another program may have written what a request may not, or another mode may have allowed it.
      const { url, ratePerSecond, ordering, schedule, enabled } = checkKept(written, headers, { checkUrl }).written;
      return Object.freeze({ id, url, secrets, headers, ratePerSecond, ordering, schedule, enabled });
    } catch (error) {
      onError(new Error(`The endpoint '${id}' cannot be used`, { cause: error }));
      return null;
    }
  }
}

function toShown({ stored, headerNames, version }: KeptEndpoint): ShownEndpoint {
  const { _id: id, headers: _, via = null, _meta, ...rest } = stored;
  const times = { createdAt: _meta?.createdAt ?? null, updatedAt: _meta?.updatedAt ?? null };
  return { endpoint: { id, ...rest, headers: blanked(headerNames), via, ...times }, version };
}
