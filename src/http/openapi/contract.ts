/**
 * The contract as one principal may see it: the routes, the endpoints of plugins, and the collections that exist and that it may
 * read. Kept for a few seconds. Not here: its form (openapi.ts), and how collections are looked at (collections/sample).
 */
import { actorOf, type Principal } from '../../auth/identity/principal.ts';
import type { SeenCollections } from '../../collections/sample/seen-collections.ts';
import type { Scope } from '../../policies/scope.ts';
import { type DeclaredRoute, type OpenApi, type ToldEndpoint, toOpenApi } from './openapi.ts';

const KEPT_MS = 3_000;
/** Contracts kept at once, one a principal. */
const MAX_KEPT = 50;

export interface ContractParts {
  readonly seen: Pick<SeenCollections, 'of'>;
  readonly version: string;
  /** The path below which clients reach this server; empty for none. */
  readonly basePath?: string;
  /** All that belong to the contract. */
  readonly routes: readonly DeclaredRoute[];
  /** The endpoints of plugins that are in force; none when absent. */
  readonly endpoints?: () => readonly ToldEndpoint[];
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

interface Kept {
  readonly until: number;
  readonly contract: Promise<OpenApi>;
}

export class Contract {
  readonly #parts: ContractParts;
  readonly #kept = new Map<string, Kept>();

  constructor(parts: ContractParts) {
    this.#parts = parts;
  }

  get({ principal }: Scope<'read', 'admin'>): Promise<OpenApi> {
    const key = actorOf(principal) ?? 'anonymous';
    const now = this.#parts.now?.() ?? performance.now();
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.until > now) return kept.contract;
    const contract = this.#build(principal);
    this.#kept.delete(key);
    this.#kept.set(key, { until: now + KEPT_MS, contract });
    contract.catch(() => this.#kept.delete(key));
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    return contract;
  }

  async #build(principal: Principal): Promise<OpenApi> {
    const { seen, version, routes, endpoints, basePath } = this.#parts;
    return toOpenApi(routes, await seen.of(principal), version, endpoints?.(), basePath);
  }
}
