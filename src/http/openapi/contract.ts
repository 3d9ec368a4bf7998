/**
 * The contract as one principal may see it: the collections that exist and that it may read, described from their
 * newest documents. Kept for a few seconds. Not here: its form (openapi.ts).
 */
import { actorOf, type Principal } from '../../auth/identity/principal.ts';
import type { Collections } from '../../collections/collections.ts';
import type { Registry } from '../../collections/registry.ts';
import { readStored } from '../../database/bson/stored.ts';
import { toWire } from '../../database/json/json.ts';
import type { CollectionName } from '../../database/names.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Scope } from '../../policies/scope.ts';
import { parseQuery } from '../../query/parse/parse-query.ts';
import { toMillraceError } from '../problem.ts';
import { memberSchemas } from './member-types.ts';
import { type DeclaredRoute, type OpenApi, type SeenCollection, toOpenApi } from './openapi.ts';

const KEPT_MS = 3_000;
/** Contracts kept at once, one a principal. */
const MAX_KEPT = 50;
const SAMPLE = 20;
/** Larger documents are not looked at. */
const MAX_BYTES = 65_536;
/** Collections described; the paths for any collection stand for the others. */
const MAX_COLLECTIONS = 50;

export interface ContractParts {
  readonly collections: Collections;
  readonly registry: Registry;
  readonly policies: Policies;
  readonly version: string;
  /** All that belong to the contract. */
  readonly routes: readonly DeclaredRoute[];
  /** Called with an error because of which a collection cannot be described, if the error is our fault. */
  readonly onError: (error: unknown, collection: string) => void;
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
    const { registry, policies, version, routes } = this.#parts;
    const readable = (await registry.names()).flatMap((name) => {
      const scope = policies.find(principal, 'read', name);
      return scope === null ? [] : [{ name, scope }];
    });
    const seen: SeenCollection[] = [];
    for (const { name, scope } of readable.slice(0, MAX_COLLECTIONS)) seen.push(await this.#look(scope, name));
    return toOpenApi(routes, seen, version);
  }

  /**
   * If one collection cannot be sampled (dropped since, ids too long for a page, a broken view), the others still are.
   */
  async #look(scope: Scope<'read'>, name: CollectionName): Promise<SeenCollection> {
    const documents = await this.#sample(scope, name).catch((error: unknown) => {
      if (toMillraceError(error).code === 'internal') this.#parts.onError(error, name);
      return [];
    });
    return { name, sampled: documents.length, members: memberSchemas(documents) };
  }

  async #sample(scope: Scope<'read'>, name: CollectionName): Promise<object[]> {
    const newest = parseQuery([
      ['sort', '-id'],
      ['limit', String(SAMPLE)],
    ]);
    const list = await this.#parts.collections.list(scope, name, newest);
    if ('next' in list.documents) throw new TypeError('A page was asked for');
    return list.documents.filter((raw) => raw.length <= MAX_BYTES).map((raw) => toWire(readStored(raw)));
  }
}
