/**
 * The collections that exist and that a principal may read, each with the members that its newest documents have: for the
 * contract, and for the types that editors complete from. Not here: their forms, and how a schema is made of a sample
 * (member-types.ts).
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { readStored } from '../../database/bson/stored.ts';
import { toWire } from '../../database/json/json.ts';
import type { CollectionName } from '../../database/names.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Scope } from '../../policies/scope.ts';
import { parseQuery } from '../../query/parse/parse-query.ts';
import type { Collections } from '../collections.ts';
import type { Registry } from '../registry.ts';
import { memberSchemas } from './member-types.ts';

const SAMPLE = 20;
/** Larger documents are not looked at. */
const MAX_BYTES = 65_536;
/** Collections described; the others are as any collection. */
const MAX_COLLECTIONS = 50;

/** A collection that exists, as its newest documents show it. */
export interface SeenCollection {
  readonly name: string;
  /** Number of documents in the sample. */
  readonly sampled: number;
  /** The schemas of their members by name. */
  readonly members: Readonly<Record<string, object>>;
}

export interface SeenCollectionsParts {
  readonly collections: Pick<Collections, 'list'>;
  readonly registry: Pick<Registry, 'names'>;
  readonly policies: Pick<Policies, 'find'>;
  /** Called with an error because of which a collection cannot be described, if the error is our fault. */
  readonly onError: (error: unknown, collection: string) => void;
}

export class SeenCollections {
  readonly #parts: SeenCollectionsParts;

  constructor(parts: SeenCollectionsParts) {
    this.#parts = parts;
  }

  /** The first 50 by name that this principal may read, and nothing of them that it may not. */
  async of(principal: Principal): Promise<readonly SeenCollection[]> {
    const { registry, policies } = this.#parts;
    const readable = (await registry.names()).flatMap((name) => {
      const scope = policies.find(principal, 'read', name);
      return scope === null ? [] : [{ name, scope }];
    });
    const seen: SeenCollection[] = [];
    for (const { name, scope } of readable.slice(0, MAX_COLLECTIONS)) seen.push(await this.#look(scope, name));
    return seen;
  }

  /**
   * If one collection cannot be sampled (dropped since, ids too long for a page, a broken view), the others still are.
   */
  async #look(scope: Scope<'read'>, name: CollectionName): Promise<SeenCollection> {
    const documents = await this.#sample(scope, name).catch((error: unknown) => {
      if (!(error instanceof MillraceError) || error.code === 'internal') this.#parts.onError(error, name);
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
