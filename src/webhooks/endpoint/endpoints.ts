/** The endpoints of an instance. Within a second each process applies a change and passes it to its sender. */
import type { ClientSession } from 'mongodb';
import type { AuditEvents } from '../../database/audit-only-events.ts';
import { type ChangeStamp, SYSTEM_CHANGE_STAMP } from '../../database/system-collection.ts';
import type { Transactions } from '../../database/transactions.ts';
import type { Egress } from '../../egress/egress.ts';
import { Reloader } from '../../lib/concurrency/reloader.ts';
import { MillraceError } from '../../lib/errors.ts';
import {
  type Creator,
  type DisabledReason,
  type EndpointCreationRoute,
  type EndpointDeliverySettings,
  MAX_ENDPOINTS,
} from './endpoint.ts';
import {
  type EndpointRules,
  maskHeaders,
  parseEndpointPatch,
  parseNewEndpoint,
  validateStoredEndpoint,
} from './endpoint-rules.ts';
import type { EndpointRecord, EndpointStore } from './endpoint-store.ts';
import { createSigningSecret, rotateSigningSecrets } from './signing-secrets.ts';
import { ENDPOINTS_COLLECTION, type StoredEndpoint } from './stored-endpoint.ts';

/** What this needs of the sender, which is in a higher folder. */
export interface EndpointListener {
  ensureEndpoint(target: EndpointDeliverySettings): Promise<void>;
  removeEndpoint(id: string): Promise<void>;
  headerIssue(name: string): string | null;
}

export interface EndpointsDeps {
  readonly store: EndpointStore;
  readonly transactions: Pick<Transactions, 'run'>;
  readonly activity: Pick<AuditEvents, 'record'>;
  readonly sender: EndpointListener;
  readonly checkUrl: Egress['checkUrl'];
  /** Called with the reason why an endpoint, or all of them, cannot be read. */
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** An endpoint for responses, without its health, and its version. */
export interface EndpointView {
  readonly endpoint: {
    readonly id: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly createdAt: Date | null;
    readonly updatedAt: Date | null;
    readonly via: EndpointCreationRoute | null;
  } & Omit<StoredEndpoint, '_id' | 'headers' | 'via' | '_meta'>;
  readonly version: string;
}

/** Called with the version that a change would replace. It throws to reject the change. */
export type VersionPrecondition = (version: string) => void;

/** A change by a request. */
export interface EndpointChangeContext {
  readonly id: string;
  /** The only principal whose endpoints may be changed; null for all. */
  readonly owner: Creator | null;
  readonly condition?: VersionPrecondition;
  readonly stamp: ChangeStamp;
}

export class Endpoints {
  readonly #deps: EndpointsDeps;
  /** Applies changes of every process in this one, and passes them to the sender. */
  readonly reloader: Reloader;
  readonly #now: () => number;
  readonly #rules: EndpointRules;
  #activeNow: ReadonlyMap<string, { readonly version: string; readonly target: EndpointDeliverySettings | null }> =
    new Map();

  constructor(deps: EndpointsDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
    const { checkUrl, sender } = deps;
    this.#rules = { checkUrl, headerIssue: (name) => sender.headerIssue(name) };
    this.reloader = new Reloader({
      read: () => this.#read(),
      concerns: (collection) => collection === ENDPOINTS_COLLECTION,
      onError: deps.onError,
    });
  }

  /** The endpoints that are active in this process, as passed to the sender. */
  activeNow(): readonly EndpointDeliverySettings[] {
    return [...this.#activeNow.values()].flatMap(({ target }) => target ?? []);
  }

  /** Ids of all endpoints in the database. */
  async storedIds(): Promise<readonly string[]> {
    const { store, transactions } = this.#deps;
    return (await transactions.run((session) => store.all(session))).map(({ id }) => id);
  }

  /** An endpoint as stored; null if it was deleted or is invalid. */
  async stored(id: string): Promise<EndpointDeliverySettings | null> {
    const { store, transactions } = this.#deps;
    const found = await transactions.run((session) => store.find(id, session));
    return found === null ? null : this.#target(found);
  }

  /** Oldest first. @param of the principal that created them; null for all */
  async list(of: Creator | null): Promise<readonly EndpointView[]> {
    const { store, transactions } = this.#deps;
    const kept = await transactions.run((session) => store.all(session, of ?? undefined));
    return kept.map(toShown);
  }

  /** @throws MillraceError `endpoint-not-found`, also for one of another principal */
  async show(id: string, of: Creator | null): Promise<EndpointView> {
    return toShown(await this.#deps.transactions.run((session) => this.#existing(id, of, session)));
  }

  /** Ids of the endpoints that one principal created. */
  idsOf(creator: Creator): Promise<readonly string[]> {
    return this.#deps.store.idsOf(creator);
  }

  /**
   * Creates an endpoint. It is active in this process when this resolves; other processes read it from the event log.
   * @param via for one that an automation service creates
   * @returns the endpoint, and its secret, which no later response contains
   * @throws MillraceError `body-required`, `invalid-body`, `invalid-endpoint`, `too-many-endpoints`
   */
  async create(
    body: unknown,
    creator: Creator,
    stamp: ChangeStamp,
    via?: EndpointCreationRoute,
  ): Promise<{ readonly shown: EndpointView; readonly secret: string }> {
    const { store } = this.#deps;
    const { written, headers, secret } = parseNewEndpoint(body, this.#rules);
    const shown = await this.#change(async (session) => {
      if ((await store.countAlone(session)) >= MAX_ENDPOINTS) {
        throw new MillraceError('too-many-endpoints', `There are ${MAX_ENDPOINTS} endpoints already`);
      }
      const secrets = { secrets: [{ secret, until: null }], headers };
      return store.insert(written, secrets, { principal: creator, via }, stamp, session);
    });
    return { shown, secret };
  }

  /**
   * Applies a merge patch (RFC 7396).
   * @throws MillraceError `endpoint-not-found`, `invalid-body-type`, `invalid-body`, `invalid-endpoint`, what the condition throws
   */
  change(patch: unknown, { stamp, ...change }: EndpointChangeContext): Promise<EndpointView> {
    const { store, activity } = this.#deps;
    return this.#change(async (session) => {
      const before = await this.#changed(change, session);
      const { secrets, headers: kept } = before.open();
      const { written, headers } = parseEndpointPatch(patch, { written: before.written, headers: kept }, this.#rules);
      await store.save(before, written, { secrets, headers }, stamp, session);
      if (before.written.enabled && !written.enabled) {
        await activity.record('system.endpoint.disabled', { endpoint: before.id, reason: 'manual' }, stamp, session);
      }
      return before.id;
    });
  }

  /** @throws MillraceError `endpoint-not-found`, errors of the condition */
  async remove({ stamp, ...change }: EndpointChangeContext): Promise<void> {
    const { store, transactions } = this.#deps;
    await transactions.run(async (session) => {
      const { id } = await this.#changed(change, session);
      await store.remove(id, stamp, session);
    });
    await this.reloader.reload();
  }

  /** Deletes the endpoints of one principal. @returns how many there were */
  async removeOf(creator: Creator, stamp: ChangeStamp): Promise<number> {
    const { store, transactions } = this.#deps;
    const ids = await store.idsOf(creator);
    if (ids.length === 0) return 0;
    await transactions.run(async (session) => {
      for (const id of ids) await store.remove(id, stamp, session);
    });
    await this.reloader.reload();
    return ids.length;
  }

  /**
   * Gives an endpoint a new secret. Its current secrets still sign for the grace period.
   * @param graceMs milliseconds
   * @returns the new secret, which no later response contains, and when each of the others stops signing, newest first
   * @throws MillraceError `endpoint-not-found`
   */
  async rotate(
    graceMs: number,
    { stamp, ...change }: EndpointChangeContext,
  ): Promise<{ readonly secret: string; readonly expires: readonly Date[] }> {
    const { store } = this.#deps;
    const secret = createSigningSecret();
    let expires: readonly Date[] = [];
    await this.#change(async (session) => {
      const before = await this.#changed(change, session);
      const { secrets: known, headers } = before.open();
      const secrets = rotateSigningSecrets(known, secret, graceMs, this.#now());
      expires = secrets.flatMap(({ until }) => (until === null ? [] : new Date(until)));
      await store.save(before, before.written, { secrets, headers }, stamp, session);
      return before.id;
    });
    return { secret, expires };
  }

  /**
   * Disables an endpoint for a reason that the server detected, and records that. A disabled endpoint keeps its reason.
   * @returns false if it was already disabled or deleted
   */
  async disable(id: string, reason: DisabledReason): Promise<boolean> {
    const { store, transactions, activity } = this.#deps;
    const disabled = await transactions.run(async (session) => {
      if (!(await store.disable(id, reason, SYSTEM_CHANGE_STAMP, session))) return false;
      await activity.record('system.endpoint.disabled', { endpoint: id, reason }, SYSTEM_CHANGE_STAMP, session);
      return true;
    });
    if (disabled) await this.reloader.reload();
    return disabled;
  }

  async #change(change: (session: ClientSession) => Promise<string>): Promise<EndpointView> {
    const changed = await this.#deps.transactions.run(async (session) =>
      this.#existing(await change(session), null, session),
    );
    await this.reloader.reload();
    return toShown(changed);
  }

  async #changed(
    { id, owner, condition }: Omit<EndpointChangeContext, 'stamp'>,
    session: ClientSession,
  ): Promise<EndpointRecord> {
    const found = await this.#existing(id, owner, session);
    condition?.(found.version);
    return found;
  }

  async #existing(id: string, of: Creator | null, session: ClientSession): Promise<EndpointRecord> {
    const found = await this.#deps.store.find(id, session);
    const creator = found?.principal;
    if (found !== null && (of === null || (creator?.kind === of.kind && creator.id === of.id))) return found;
    throw new MillraceError('endpoint-not-found', `There is no endpoint '${id.slice(0, 80)}'`);
  }

  /** A version counts as passed only when the sender has accepted it, so that a failed call is repeated. */
  async #read(): Promise<void> {
    const { store, transactions, sender } = this.#deps;
    const kept = await transactions.run((session) => store.all(session));
    const activeNow = new Map(this.#activeNow);
    const keep = () => {
      this.#activeNow = new Map(activeNow);
    };
    const ids = new Set(kept.map(({ id }) => id));
    for (const id of activeNow.keys()) {
      if (ids.has(id)) continue;
      await sender.removeEndpoint(id);
      activeNow.delete(id);
      keep();
    }
    for (const one of kept) {
      const known = activeNow.get(one.id);
      if (known?.version === one.version) continue;
      const target = this.#target(one);
      // One that cannot be used stays as the sender knows it: its deliveries must not be canceled.
      if (target !== null) await sender.ensureEndpoint(target);
      activeNow.set(one.id, { version: one.version, target: target ?? known?.target ?? null });
      keep();
    }
  }

  #target({ id, written, version: _, open }: EndpointRecord): EndpointDeliverySettings | null {
    const { checkUrl, onError } = this.#deps;
    try {
      const { secrets, headers } = open();
      // Another program may have written what a request cannot, or another mode may have allowed it.
      const { url, ratePerSecond, ordering, retrySchedule, enabled } = validateStoredEndpoint(written, headers, {
        checkUrl,
      }).written;
      return Object.freeze({ id, url, secrets, headers, ratePerSecond, ordering, retrySchedule, enabled });
    } catch (error) {
      onError(new Error(`The endpoint '${id}' is invalid`, { cause: error }));
      return null;
    }
  }
}

function toShown({ stored, headerNames, version }: EndpointRecord): EndpointView {
  const { _id: id, headers: _, via = null, _meta, ...rest } = stored;
  const times = { createdAt: _meta?.createdAt ?? null, updatedAt: _meta?.updatedAt ?? null };
  return { endpoint: { id, ...rest, headers: maskHeaders(headerNames), via, ...times }, version };
}
