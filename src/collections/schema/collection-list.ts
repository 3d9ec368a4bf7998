/**
 * The collections that exist and that a principal may read, each with the fields of its newest documents: for the
 * OpenAPI document, and for the types that editors complete from.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Scope } from '../../policies/scope.ts';
import { parseQuery } from '../../query/parse/parse-query.ts';
import type { CollectionRegistry } from '../collection-registry.ts';
import type { Collections } from '../collections.ts';
import { inferFields } from './infer-fields.ts';
import { toFieldSchemas } from './inferred-field-schemas.ts';

const SAMPLE = 20;
/** Larger documents are skipped. */
const MAX_BYTES = 65_536;
/** Maximum collections described; the others are treated as any collection. */
const MAX_COLLECTIONS = 50;

/** Maximum fields described for one collection, including nested ones, and levels of fields. */
const MAX_FIELDS = 200;
const MAX_DEPTH = 4;
/** How long the description of one collection may take, in milliseconds. */
const MAX_MS = 500;

/** An existing collection with the fields of its newest documents. */
export interface CollectionEntry {
  readonly name: string;
  /** Number of documents in the sample. */
  readonly sampled: number;
  /** The schemas of their fields by name. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface CollectionListDeps {
  readonly collections: Pick<Collections, 'list'>;
  readonly registry: Pick<CollectionRegistry, 'names'>;
  readonly policies: Pick<Policies, 'find'>;
  /** Called with an error that keeps a collection from being described, if it is a server error. */
  readonly onError: (error: unknown, collection: string) => void;
}

export class CollectionList {
  readonly #deps: CollectionListDeps;

  constructor(deps: CollectionListDeps) {
    this.#deps = deps;
  }

  /** The first 50 by name that this principal may read, and only their visible parts. */
  async of(principal: Principal): Promise<readonly CollectionEntry[]> {
    const { registry, policies } = this.#deps;
    const readable = (await registry.names()).flatMap((name) => {
      const scope = policies.find(principal, 'read', name);
      return scope === null ? [] : [{ name, scope }];
    });
    const seen: CollectionEntry[] = [];
    for (const { name, scope } of readable.slice(0, MAX_COLLECTIONS)) seen.push(await this.#look(scope, name));
    return seen;
  }

  /**
   * If one collection cannot be sampled (dropped since, ids too long for a page, a broken view), the others still are.
   */
  async #look(scope: Scope<'read'>, name: CollectionName): Promise<CollectionEntry> {
    const documents = await this.#sample(scope, name).catch((error: unknown) => {
      if (!(error instanceof MillraceError) || error.code === 'internal') this.#deps.onError(error, name);
      return [];
    });
    return { name, sampled: documents.length, fields: await describeFields(documents) };
  }

  async #sample(scope: Scope<'read'>, name: CollectionName): Promise<readonly Uint8Array[]> {
    const newest = parseQuery([
      ['sort', '-id'],
      ['limit', String(SAMPLE)],
    ]);
    const { documents } = await this.#deps.collections.list(scope, name, newest);
    return documents.filter((raw) => raw.length <= MAX_BYTES);
  }
}

/** The schemas of the fields of stored documents, by name, for generated types. */
export async function describeFields(newest: readonly Uint8Array[]): Promise<CollectionEntry['fields']> {
  const limits = { until: performance.now() + MAX_MS, fields: MAX_FIELDS, depth: MAX_DEPTH };
  return toFieldSchemas((await inferFields(newest, limits)).fields, `${newest.length} newest documents`, null);
}
