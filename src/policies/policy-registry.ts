/**
 * The policies of an instance: read at the start and within a second after every change in any process, saved as a
 * whole or not at all, and restored from an earlier version. They are passed to `Policies`; if they cannot be read,
 * `Policies` is closed.
 */
import type { ClientSession } from 'mongodb';
import { type ResourceAction, stampFromPrincipal } from '../auth/identity/principal.ts';
import type { ServerMode } from '../config/config.ts';
import { SYSTEM_CHANGE_STAMP } from '../database/system-collection.ts';
import type { Transactions } from '../database/transactions.ts';
import { Reloader } from '../lib/concurrency/reloader.ts';
import { MillraceError } from '../lib/errors.ts';
import type { Policies } from './policies.ts';
import { ALLOW_ALL_POLICY, ALLOW_ALL_POLICY_ID, type PolicyRecord, type PolicySet, toPolicySet } from './policy-set.ts';
import { POLICIES_COLLECTION, type PolicyStore, type PolicyVersion } from './policy-store.ts';
import type { Scope } from './scope.ts';

/** The collection in which the first administrator of an instance appears. */
const USERS = '_users';
const ID = /^[a-z0-9][a-z0-9-]{0,63}$/;
/** Ids that a policy cannot have, because the paths of the policy routes use these words. */
const TAKEN: readonly string[] = ['versions', 'test', 'check', 'draft'];

export interface PolicyRegistryDeps {
  readonly store: PolicyStore;
  readonly policies: Policies;
  readonly transactions: Transactions;
  readonly mode: ServerMode;
  /** True if this instance has an administrator. */
  readonly hasAdministrator: () => Promise<boolean>;
  /** Called with the reason why the policies cannot be read. */
  readonly onError: (error: unknown) => void;
}

/** The active policies, and their version number. */
export interface CurrentPolicies {
  readonly version: number;
  readonly policies: readonly PolicyRecord[];
}

/** The policies as they are, and as they would be. */
export interface DraftPolicySets {
  readonly now: PolicySet;
  readonly next: PolicySet;
}

export class PolicyRegistry {
  readonly #deps: PolicyRegistryDeps;
  /** While it cannot read the policies, only administrators are allowed anything. */
  readonly reloader: Reloader;
  /** The version that is active here; undefined before the first read. */
  #version: number | null | undefined;
  /**
   * In production, policies apply only when there is an administrator: before that, any client of development mode may
   * have created them.
   */
  #hasAdministrator: boolean;

  constructor(deps: PolicyRegistryDeps) {
    this.#deps = deps;
    this.#hasAdministrator = deps.mode === 'development';
    this.reloader = new Reloader({
      read: () => this.#read(),
      concerns: (collection) => collection === POLICIES_COLLECTION || (!this.#hasAdministrator && collection === USERS),
      onError: (error) => {
        deps.policies.close();
        deps.onError(error);
      },
      // When an administrator corrects an invalid policy, the log reports it. The return of an unreachable database is not
      // reported.
      canRetry: (error) => !(error instanceof MillraceError && error.code === 'invalid-policy'),
      isStale: () => this.#isStale(),
    });
  }

  /**
   * Prepares the collections; a new instance in development mode gets the policy that allows everything. Runs before
   * events are recorded: the initial state of an instance is not a change.
   */
  async prepare(): Promise<void> {
    await this.#begin();
  }

  /** @param _scope the Scope of reading the resource `admin` */
  async list(_scope: Scope<'read', '_admin'>): Promise<CurrentPolicies> {
    const { store } = this.#deps;
    return { version: (await store.newest()) ?? 0, policies: await store.all() };
  }

  async versions(_scope: Scope<'read', '_admin'>): Promise<readonly PolicyVersion[]> {
    return this.#deps.store.versions();
  }

  /**
   * Adds a policy. Without an id it gets one derived from its name.
   * @throws MillraceError `invalid-policy`, `policy-exists`, `too-many-policies`
   */
  async create(
    scope: Scope<'create', '_admin'>,
    body: Readonly<Record<string, unknown>>,
    request: string,
  ): Promise<PolicyRecord> {
    const { id: given, ...policy } = body;
    const id = readId(given ?? idOf(policy['name']));
    await this.#save(scope, request, id, (before) => {
      if (before.some((one) => one.id === id)) {
        throw new MillraceError('policy-exists', `A policy '${id}' already exists`, {
          hint: 'PUT changes it; use another "id" to have both',
        });
      }
      return [...before, { id, policy }];
    });
    return { id, policy };
  }

  /** @throws MillraceError `invalid-policy`, `policy-not-found` */
  async replace(scope: Scope<'update', '_admin'>, id: string, body: object, request: string): Promise<PolicyRecord> {
    const { id: _, ...policy }: Readonly<Record<string, unknown>> = { id, ...body };
    await this.#save(scope, request, id, (before) => {
      requirePolicy(before, id);
      return before.map((one) => (one.id === id ? { id, policy } : one));
    });
    return { id, policy };
  }

  /** @throws MillraceError `policy-not-found`, and `invalid-policy` when the other policies are not valid without it */
  async remove(scope: Scope<'delete', '_admin'>, id: string, request: string): Promise<void> {
    await this.#save(scope, request, undefined, (before) => {
      requirePolicy(before, id);
      return before.filter((one) => one.id !== id);
    });
  }

  /**
   * The policies after saving a policy, new or changed, or removing one (null). Nothing is stored.
   * @throws MillraceError `invalid-policy`, `too-many-policies`, `policy-not-found`, as saving would
   */
  async draft(_scope: Scope<'update', '_admin'>, id: string, policy: object | null): Promise<DraftPolicySets> {
    const before = await this.#deps.store.all();
    if (policy === null) requirePolicy(before, id);
    else if (!before.some((one) => one.id === id)) readId(id);
    const others = before.filter((one) => one.id !== id);
    const next = policy === null ? toPolicySet(others) : toPolicySet([...others, { id, policy }], id);
    return { now: toPolicySet(before), next };
  }

  /** Restores an earlier version as the newest. @throws MillraceError `policy-not-found` when it is no longer stored */
  async restore(scope: Scope<'update', '_admin'>, version: number, request: string): Promise<CurrentPolicies> {
    const requested = (await this.#deps.store.versions()).find((one) => one.version === version);
    if (requested === undefined) throw new MillraceError('policy-not-found', `The version ${version} is not stored`);
    const number = await this.#save(scope, request, undefined, () => requested.policies);
    return { version: number, policies: requested.policies };
  }

  async #save(
    scope: Scope<ResourceAction, '_admin'>,
    request: string,
    id: string | undefined,
    change: (before: readonly PolicyRecord[]) => readonly PolicyRecord[],
  ): Promise<number> {
    const { store, transactions } = this.#deps;
    const version = await transactions.run(async (session) => {
      const before = await store.all(session);
      const after = change(before);
      toPolicySet(after, id);
      return store.change(before, after, stampFromPrincipal(scope, request), session);
    });
    // The client that changed a policy can rely on it in its next request; other processes learn of it from the event
    // log.
    await this.reloader.reload();
    return version;
  }

  async #begin(): Promise<void> {
    const { store, transactions, mode } = this.#deps;
    const isNew = await store.start();
    const requested = async (session?: ClientSession) => isNew || (await store.newest(session)) === null;
    if (mode !== 'development' || !(await requested())) return;
    await transactions.run(async (session) => {
      const before = await store.all(session);
      if (!(await requested(session)) || before.some(({ id }) => id === ALLOW_ALL_POLICY_ID)) return;
      await store.change(
        before,
        [...before, { id: ALLOW_ALL_POLICY_ID, policy: ALLOW_ALL_POLICY }],
        SYSTEM_CHANGE_STAMP,
        session,
      );
    });
  }

  /** If the database of a running development server is dropped, versions start again; those in the log still exist. */
  async #all(): Promise<readonly PolicyRecord[]> {
    const found = await this.#deps.store.all();
    if (found.length > 0 || this.#deps.mode !== 'development') return found;
    await this.#begin();
    return this.#deps.store.all();
  }

  async #read(): Promise<void> {
    // The number is read first: a version that is saved between the two reads is then read again.
    const version = await this.#deps.store.newest();
    this.#hasAdministrator ||= await this.#deps.hasAdministrator();
    this.#deps.policies.use(toPolicySet(this.#hasAdministrator ? await this.#all() : []));
    this.#version = version;
  }

  /** True when the newest version is not the active one, or when the first administrator has appeared. */
  async #isStale(): Promise<boolean> {
    if (this.#version === undefined) return false;
    // While the database is unreachable, no other request succeeds either.
    const newest = await this.#deps.store.newest().catch(() => this.#version);
    return (
      newest !== this.#version || (!this.#hasAdministrator && (await this.#deps.hasAdministrator().catch(() => false)))
    );
  }
}

function requirePolicy(policies: readonly PolicyRecord[], id: string): void {
  if (policies.some((one) => one.id === id)) return;
  throw new MillraceError('policy-not-found', `There is no policy '${id.slice(0, 80)}'`);
}

function readId(id: unknown): string {
  if (typeof id === 'string' && ID.test(id) && !TAKEN.includes(id)) return id;
  const detail = 'An id is up to 64 lowercase letters, digits and -, and not versions, test, check or draft';
  throw new MillraceError('invalid-policy', detail, { issues: [{ pointer: '/id', code: 'invalid-policy', detail }] });
}

/** A readable id: `authors-edit-their-own-posts`. */
function idOf(name: unknown): string {
  const words =
    typeof name === 'string'
      ? name
          .normalize('NFKD')
          .toLowerCase()
          .match(/[a-z0-9]+/g)
      : null;
  return words === null ? 'policy' : words.join('-').slice(0, 64).replace(/-$/, '');
}
