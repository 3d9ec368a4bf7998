/**
 * The policies of an installation: read at the start and within a second after every change in any process, saved as a
 * whole or not at all, and restored from an earlier version. They are passed to `Policies`; if they cannot be read,
 * `Policies` is closed. Not here: HTTP (admin/policy-routes.ts), the database's language (policy-store.ts).
 */
import type { ClientSession } from 'mongodb';
import { type Action, stampBy } from '../auth/identity/principal.ts';
import { ITSELF } from '../database/system-collection.ts';
import type { Transactions } from '../database/transactions.ts';
import { Reloader } from '../kernel/concurrency/reloader.ts';
import type { Mode } from '../kernel/config/config.ts';
import { MillraceError } from '../kernel/errors.ts';
import type { Policies } from './policies.ts';
import { OPEN, OPEN_ID, type PolicySet, toPolicySet, type WrittenPolicy } from './policy-set.ts';
import { POLICIES_COLLECTION, type PolicyStore, type Version } from './policy-store.ts';
import type { Scope } from './scope.ts';

/** The collection in which the first owner of an installation appears. */
const ACCOUNTS = '_users';
const ID = /^[a-z0-9][a-z0-9-]{0,63}$/;
/** Ids that a policy cannot have, because the addresses of policies use these words. */
const TAKEN: readonly string[] = ['versions', 'test', 'check', 'draft'];

export interface PolicyBookParts {
  readonly store: PolicyStore;
  readonly policies: Policies;
  readonly transactions: Transactions;
  readonly mode: Mode;
  /** True if this installation has an owner. */
  readonly owned: () => Promise<boolean>;
  /** Called with the reason why the policies cannot be read. */
  readonly onError: (error: unknown) => void;
}

/** The policies that count, and the number of their version. */
export interface Current {
  readonly version: number;
  readonly policies: readonly WrittenPolicy[];
}

/** The policies as they are, and as they would be. */
export interface DraftedSets {
  readonly now: PolicySet;
  readonly next: PolicySet;
}

export class PolicyBook {
  readonly #parts: PolicyBookParts;
  /** While it cannot read the policies, only owners are allowed anything. */
  readonly reloader: Reloader;
  /** The version that is in force here; undefined before the first reading. */
  #version: number | null | undefined;
  /**
   * In production, policies count only when there is an owner: before that, any client of development mode may have
   * made them.
   */
  #owned: boolean;

  constructor(parts: PolicyBookParts) {
    this.#parts = parts;
    this.#owned = parts.mode === 'development';
    this.reloader = new Reloader({
      read: () => this.#read(),
      concerns: (collection) => collection === POLICIES_COLLECTION || (!this.#owned && collection === ACCOUNTS),
      onError: (error) => {
        parts.policies.close();
        parts.onError(error);
      },
      // When an owner corrects an invalid policy, the log reports it. The return of an unreachable database is not
      // reported.
      canRetry: (error) => !(error instanceof MillraceError && error.code === 'invalid-policy'),
      isStale: () => this.#isStale(),
    });
  }

  /**
   * Prepares the collections; a new installation in development mode gets the policy that allows everything. Runs
   * before events are recorded: the initial state of an installation is not a change.
   */
  async prepare(): Promise<void> {
    await this.#begin();
  }

  /** @param _scope the Scope of reading in the place `admin` */
  async list(_scope: Scope<'read', 'admin'>): Promise<Current> {
    const { store } = this.#parts;
    return { version: (await store.newest()) ?? 0, policies: await store.all() };
  }

  async versions(_scope: Scope<'read', 'admin'>): Promise<readonly Version[]> {
    return this.#parts.store.versions();
  }

  /**
   * Adds a policy. Without an id it gets one made from its name.
   * @throws MillraceError `invalid-policy`, `policy-exists`, `too-many-policies`
   */
  async create(
    scope: Scope<'create', 'admin'>,
    body: Readonly<Record<string, unknown>>,
    request: string,
  ): Promise<WrittenPolicy> {
    const { id: given, ...policy } = body;
    const id = readId(given ?? idOf(policy['name']));
    await this.#save(scope, request, id, (before) => {
      if (before.some((one) => one.id === id)) {
        throw new MillraceError('policy-exists', `A policy '${id}' exists already`, {
          hint: 'PUT changes it; give another "id" to have both',
        });
      }
      return [...before, { id, policy }];
    });
    return { id, policy };
  }

  /** @throws MillraceError `invalid-policy`, `policy-not-found` */
  async replace(scope: Scope<'update', 'admin'>, id: string, body: object, request: string): Promise<WrittenPolicy> {
    const { id: _, ...policy }: Readonly<Record<string, unknown>> = { id, ...body };
    await this.#save(scope, request, id, (before) => {
      requirePolicy(before, id);
      return before.map((one) => (one.id === id ? { id, policy } : one));
    });
    return { id, policy };
  }

  /** @throws MillraceError `policy-not-found`, and `invalid-policy` when the other policies are not valid without it */
  async remove(scope: Scope<'delete', 'admin'>, id: string, request: string): Promise<void> {
    await this.#save(scope, request, undefined, (before) => {
      requirePolicy(before, id);
      return before.filter((one) => one.id !== id);
    });
  }

  /**
   * What saving a policy, new or changed, or removing one (null) would make of the policies. Nothing is stored.
   * @throws MillraceError `invalid-policy`, `too-many-policies`, `policy-not-found`, as saving would
   */
  async draft(_scope: Scope<'update', 'admin'>, id: string, policy: object | null): Promise<DraftedSets> {
    const before = await this.#parts.store.all();
    if (policy === null) requirePolicy(before, id);
    else if (!before.some((one) => one.id === id)) readId(id);
    const others = before.filter((one) => one.id !== id);
    const next = policy === null ? toPolicySet(others) : toPolicySet([...others, { id, policy }], id);
    return { now: toPolicySet(before), next };
  }

  /** Makes an earlier version the newest. @throws MillraceError `policy-not-found` when it is not kept */
  async restore(scope: Scope<'update', 'admin'>, version: number, request: string): Promise<Current> {
    const wanted = (await this.#parts.store.versions()).find((one) => one.version === version);
    if (wanted === undefined) throw new MillraceError('policy-not-found', `The version ${version} is not kept`);
    const number = await this.#save(scope, request, undefined, () => wanted.policies);
    return { version: number, policies: wanted.policies };
  }

  async #save(
    scope: Scope<Action, 'admin'>,
    request: string,
    id: string | undefined,
    change: (before: readonly WrittenPolicy[]) => readonly WrittenPolicy[],
  ): Promise<number> {
    const { store, transactions } = this.#parts;
    const version = await transactions.run(async (session) => {
      const before = await store.all(session);
      const after = change(before);
      toPolicySet(after, id);
      return store.change(before, after, stampBy(scope, request), session);
    });
    // The client that changed a policy can rely on it in its next request; other processes hear of it from the event
    // log.
    await this.reloader.reload();
    return version;
  }

  async #begin(): Promise<void> {
    const { store, transactions, mode } = this.#parts;
    const isNew = await store.start();
    const wanted = async (session?: ClientSession) => isNew || (await store.newest(session)) === null;
    if (mode !== 'development' || !(await wanted())) return;
    await transactions.run(async (session) => {
      const before = await store.all(session);
      if (!(await wanted(session)) || before.some(({ id }) => id === OPEN_ID)) return;
      await store.change(before, [...before, { id: OPEN_ID, policy: OPEN }], ITSELF, session);
    });
  }

  /**
   * If the database of a running development server is dropped, it begins anew; the versions in the log still exist.
   */
  async #all(): Promise<readonly WrittenPolicy[]> {
    const found = await this.#parts.store.all();
    if (found.length > 0 || this.#parts.mode !== 'development') return found;
    await this.#begin();
    return this.#parts.store.all();
  }

  async #read(): Promise<void> {
    // The number is read first: a version that is saved between the two readings is then read again.
    const version = await this.#parts.store.newest();
    this.#owned ||= await this.#parts.owned();
    this.#parts.policies.use(toPolicySet(this.#owned ? await this.#all() : []));
    this.#version = version;
  }

  /** True when the newest version is not the one in force, or when the first owner has appeared. */
  async #isStale(): Promise<boolean> {
    if (this.#version === undefined) return false;
    // While the database is unreachable, no other request is answered either.
    const newest = await this.#parts.store.newest().catch(() => this.#version);
    return newest !== this.#version || (!this.#owned && (await this.#parts.owned().catch(() => false)));
  }
}

function requirePolicy(policies: readonly WrittenPolicy[], id: string): void {
  if (policies.some((one) => one.id === id)) return;
  throw new MillraceError('policy-not-found', `There is no policy '${id.slice(0, 80)}'`);
}

function readId(id: unknown): string {
  if (typeof id === 'string' && ID.test(id) && !TAKEN.includes(id)) return id;
  const detail = 'An id is up to 64 small letters, digits and -, and not versions, test, check or draft';
  throw new MillraceError('invalid-policy', detail, { faults: [{ pointer: '/id', code: 'invalid-policy', detail }] });
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
