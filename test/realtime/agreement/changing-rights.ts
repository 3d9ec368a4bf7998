/**
 * The rights of one account as a test changes them while clients follow: policies, and the account's roles and claims.
 * It says which views of the documents may be in force at a moment; whether clients hold them is judge.ts.
 */
import type { Document } from 'mongodb';
import type { Random } from '../../helpers/random.ts';
import type { View } from './judge.ts';
import { type RandomView, type Rights, randomRights, randomView } from './random-views.ts';

/** What the probes of a test are read by: a collection and the claim that names the newest version of the account. */
export const PROBES = 'probes';
const PROBE_READERS = {
  collections: [PROBES],
  actions: ['read'],
  principals: { authenticated: true },
  where: { version: '$user.claims.version' },
};

/** A view, with the version of the account it is of. */
export interface RightsView extends View {
  readonly version: number;
}

export interface RightsOptions {
  /** How long after a change clients may still be told what was in force before it, in milliseconds. */
  readonly graceMs: number;
  /** Puts policies into force, at once. */
  readonly putPolicies: (policies: readonly object[]) => void;
  /** Changes the account, which comes into force some time later. */
  readonly putAccount: (account: { readonly roles: readonly string[]; readonly claims: object }) => Promise<void>;
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

  /** Every view that was in force since the last `begin`, in the order in which they came. */
  get views(): readonly RightsView[] {
    return this.#views;
  }

  /** The newest version of the account. */
  get version(): number {
    return this.#versions.at(-1)?.number ?? 0;
  }

  /** Begins with other policies on another collection. */
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
    // The request itself may take long on a busy machine: the older rights hold until it is answered.
    const to = performance.now() + this.#options.graceMs;
    for (const one of older) one.to = Math.min(one.to, to);
  }

  #viewOf({ number, rights, to }: Version, from: number): Named {
    const { shows } = this.#shown;
    return { shows: (documents: readonly Document[]) => shows(documents, rights), from, to, version: number };
  }
}
