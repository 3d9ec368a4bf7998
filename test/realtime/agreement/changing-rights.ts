/**
 * Changes the rights of one user while clients follow: policies, roles and claims. It records which views of the
 * documents may be active at a time; judge.ts checks whether clients hold them.
 */
import type { Document } from 'mongodb';
import type { Random } from '../../helpers/random.ts';
import type { View } from './judge.ts';
import { type RandomView, type Rights, randomRights, randomView } from './random-views.ts';

/** The resource of a test's probes: a collection, and the claim with the newest version of the user. */
export const PROBES = 'probes';
const PROBE_READERS = {
  resources: [PROBES],
  actions: ['read'],
  principals: { authenticated: true },
  filter: { version: '$user.claims.version' },
};

/** A view, with its version of the user. */
export interface RightsView extends View {
  readonly version: number;
}

export interface RightsOptions {
  /** How long after a change clients may still receive what was allowed before it, in milliseconds. */
  readonly graceMs: number;
  /** Activates policies, at once. */
  readonly putPolicies: (policies: readonly object[]) => void;
  /** Changes the user, which takes effect some time later. */
  readonly putAccount: (user: { readonly roles: readonly string[]; readonly claims: object }) => Promise<void>;
}

interface Version {
  readonly number: number;
  readonly rights: Rights;
  to: number;
}

interface Named extends RightsView {
  to: number;
}

export class ChangingRights {
  readonly #options: RightsOptions;
  #versions: Version[] = [];
  #shown: RandomView = { policies: [], shows: () => [] };
  #views: Named[] = [];

  constructor(options: RightsOptions) {
    this.#options = options;
  }

  /** Every view that was active since the last `begin`, in order. */
  get views(): readonly RightsView[] {
    return this.#views;
  }

  /** The newest version of the user. */
  get version(): number {
    return this.#versions.at(-1)?.number ?? 0;
  }

  /** Starts with other policies on another collection. */
  begin(random: Random, collection: string): void {
    this.#views = [];
    this.changePolicies(random, collection);
  }

  changePolicies(random: Random, collection: string): void {
    const now = performance.now();
    for (const view of this.#views) view.to = Math.min(view.to, now + this.#options.graceMs);
    this.#shown = randomView(random, collection);
    this.#options.putPolicies([...this.#shown.policies, PROBE_READERS]);
    this.#versions = this.#versions.filter(({ to }) => to > now);
    for (const version of this.#versions) this.#views.push(this.#viewOf(version, now));
  }

  async changeAccount(random: Random): Promise<void> {
    const older = [...this.#versions, ...this.#views];
    const version = { number: this.version + 1, rights: randomRights(random), to: Number.POSITIVE_INFINITY };
    this.#versions.push(version);
    this.#views.push(this.#viewOf(version, performance.now()));
    const { roles, claims } = version.rights;
    await this.#options.putAccount({ roles, claims: { ...claims, version: version.number } });
    // The request itself may take long on a busy machine: the older rights apply until the response.
    const to = performance.now() + this.#options.graceMs;
    for (const one of older) one.to = Math.min(one.to, to);
  }

  #viewOf({ number, rights, to }: Version, from: number): Named {
    const { shows } = this.#shown;
    return { shows: (documents: readonly Document[]) => shows(documents, rights), from, to, version: number };
  }
}
