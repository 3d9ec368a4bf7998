/**
 * Collections as other programs and the dashboard see them: which ones there are, and a JSON Schema of the documents of one, inferred
 * from a sample. Both show what the client may read, and nothing else.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { type CollectionName, isCollectionName, parseCollectionName } from '../../database/parse-collection-name.ts';
import { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Scope } from '../../policies/scope.ts';
import type { CollectionRegistry } from '../collection-registry.ts';
import type { Collections } from '../collections.ts';
import { inferFields } from './infer-fields.ts';
import { inferReferences } from './infer-references.ts';
import { toFieldSchemas } from './inferred-field-schemas.ts';

const NEWEST = 500;
const RANDOM = 500;
/** How long all of it may take, in milliseconds. */
const MAX_MS = 2_000;
/** How long each of the two reads of the sample may take, in milliseconds. */
const READ_MS = 800;
/** How long one look-up of ids may take, in milliseconds. */
const LOOKUP_MS = 100;
/** Maximum fields reported, including nested ones, and levels of fields. */
const MAX_FIELDS = 300;
const MAX_DEPTH = 8;
/** Documents of the sample that are described have no more bytes together. */
const MAX_BYTES = 4_194_304;

export interface CollectionLabel {
  readonly name: CollectionName;
  /** The name in words, for people. */
  readonly label: string;
}

export interface CollectionSchemasDeps {
  readonly collections: Pick<Collections, 'sample' | 'holdsAny'>;
  readonly registry: Pick<CollectionRegistry, 'names'>;
  readonly policies: Pick<Policies, 'find' | 'readable' | 'scope'>;
}

export class InferredCollectionSchemas {
  readonly #deps: CollectionSchemasDeps;
  readonly #samples = new FairSemaphore(4, 2);

  constructor(deps: CollectionSchemasDeps) {
    this.#deps = deps;
  }

  /**
   * The collections that exist and that a principal may read, sorted by name.
   * @throws MillraceError `not-authenticated`, `forbidden` when it may read none, whatever its name;
   * `policies-unavailable`
   */
  async list(principal: Principal): Promise<readonly CollectionLabel[]> {
    const { registry, policies } = this.#deps;
    const { unnamed, resources } = policies.readable(principal);
    // No collection of that name is readable then either: the error is that of any collection.
    if (!unnamed && !resources.some(isCollectionName)) {
      policies.scope(principal, 'read', parseCollectionName('collections'));
    }
    const names = await registry.names();
    const readable = names.filter((name) => policies.find(principal, 'read', name) !== null);
    return readable.map((name) => ({ name, label: labelOf(name) }));
  }

  /**
   * A JSON Schema (2020-12) of the documents of a collection, with counts, examples and likely references to collections that the
   * principal may read, too. It promises nothing of the next document.
   * @param whose the client: any value that is the same for all its requests
   * @throws MillraceError `resource-not-available` when the collection was never created
   */
  async schema(scope: Scope<'read'>, name: CollectionName, whose: unknown): Promise<object> {
    return await this.#samples.run(whose, () => this.#schema(scope, name));
  }

  async #schema(scope: Scope<'read'>, name: CollectionName): Promise<object> {
    const { collections, registry } = this.#deps;
    const until = performance.now() + MAX_MS;
    const sample = await collections.sample(scope, name, { newest: NEWEST, random: RANDOM, timeoutMs: READ_MS });
    const documents = within(sample.documents);
    const { fields, complete } = await inferFields(documents, { until, fields: MAX_FIELDS, depth: MAX_DEPTH });
    const names = await registry.names();
    const holdsAny = (other: CollectionName, ids: readonly string[]) => this.#holdsAny(scope.principal, other, ids);
    const references = await inferReferences(fields, names, holdsAny, until);
    const isComplete = sample.complete && complete && documents.length === sample.documents.length;
    return {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: labelOf(name),
      type: 'object',
      'x-sampled': documents.length,
      'x-complete': isComplete && performance.now() <= until,
      properties: {
        ...toFieldSchemas(fields, `${documents.length} documents of a sample`, references),
        ...(documents.length > 0 && { _meta: META }),
      },
      additionalProperties: true,
    };
  }

  /** A collection that cannot be read, such as a broken view, is not a reference. */
  async #holdsAny(principal: Principal, name: CollectionName, ids: readonly string[]): Promise<boolean> {
    const scope = this.#deps.policies.find(principal, 'read', name);
    if (scope === null) return false;
    return this.#deps.collections.holdsAny(scope, name, ids, LOOKUP_MS).catch((error: unknown) => {
      if (error instanceof MillraceError) return false;
      throw error;
    });
  }
}

const META = {
  description: 'Set by the server.',
  type: 'object',
  readOnly: true,
  properties: {
    revision: { type: 'integer' },
    createdAt: { type: ['string', 'null'], format: 'date-time' },
    updatedAt: { type: ['string', 'null'], format: 'date-time' },
    createdBy: { type: ['string', 'null'] },
    updatedBy: { type: ['string', 'null'] },
  },
  additionalProperties: true,
};

/** `order_items`, `order-items` and `orderItems` are all "Order items". */
function labelOf(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[\s_-]+/)
    .filter((word) => word !== '')
    // A word of capitals alone is an abbreviation.
    .map((word) => (/^[A-Z0-9]{2,}$/.test(word) ? word : word.toLowerCase()));
  const label = words.join(' ');
  return `${label.slice(0, 1).toUpperCase()}${label.slice(1)}`;
}

/** The first documents that have no more bytes together; at least one. */
function within(documents: readonly Uint8Array[]): readonly Uint8Array[] {
  let bytes = 0;
  const end = documents.findIndex((raw) => {
    bytes += raw.length;
    return bytes > MAX_BYTES;
  });
  return end < 0 ? documents : documents.slice(0, Math.max(1, end));
}
