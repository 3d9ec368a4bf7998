/**
 * Collections as other programs ask for them before they know any: which there are, and a JSON Schema of the documents of one,
 * made from a sample. Both show what the client may read, and nothing else. Not here: what people look at (shapes.ts), and all
 * collections of the contract at once (seen-collections.ts).
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { readStored } from '../../database/bson/stored.ts';
import { toWire } from '../../database/json/json.ts';
import { type CollectionName, isCollectionName, parseCollectionName } from '../../database/names.ts';
import { FairSemaphore } from '../../kernel/concurrency/fair-semaphore.ts';
import { mapInTurns } from '../../kernel/concurrency/pauses.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Scope } from '../../policies/scope.ts';
import type { Collections } from '../collections.ts';
import type { Registry } from '../registry.ts';
import { memberSchemas } from './member-types.ts';

const NEWEST = 100;
const RANDOM = 100;
/** How long each of the two reads of the sample may take, in milliseconds. */
const READ_MS = 800;
/** Documents of the sample that are described have no more bytes together. */
const MAX_BYTES = 1_048_576;

export interface CollectionLabel {
  readonly name: CollectionName;
  /** The name in words, for people. */
  readonly label: string;
}

export interface DescribedParts {
  readonly collections: Pick<Collections, 'sample'>;
  readonly registry: Pick<Registry, 'names'>;
  readonly policies: Pick<Policies, 'find' | 'readable' | 'scope'>;
}

export class DescribedCollections {
  readonly #parts: DescribedParts;
  readonly #samples = new FairSemaphore(4, 2);

  constructor(parts: DescribedParts) {
    this.#parts = parts;
  }

  /**
   * The collections that exist and that a principal may read, by name.
   * @throws MillraceError `not-authenticated`, `forbidden` when it may read none, whatever its name; `policies-unavailable`
   */
  async list(principal: Principal): Promise<readonly CollectionLabel[]> {
    const { registry, policies } = this.#parts;
    const { unnamed, places } = policies.readable(principal);
    // Neither is a collection of that name readable then: the refusal is that of any collection.
    if (!unnamed && !places.some(isCollectionName)) {
      policies.scope(principal, 'read', parseCollectionName('collections'));
    }
    const names = await registry.names();
    const readable = names.filter((name) => policies.find(principal, 'read', name) !== null);
    return readable.map((name) => ({ name, label: labelOf(name) }));
  }

  /**
   * A JSON Schema (2020-12) of the documents of a collection. It promises nothing of the next document.
   * @param whose the client: any value that is the same for all its requests
   * @throws MillraceError `resource-not-available` when the collection was never created
   */
  async schema(scope: Scope<'read'>, name: CollectionName, whose: unknown): Promise<object> {
    const size = { newest: NEWEST, random: RANDOM, timeoutMs: READ_MS };
    const sample = await this.#samples.run(whose, () => this.#parts.collections.sample(scope, name, size));
    const documents = await mapInTurns(within(sample.documents), (raw) => toWire(readStored(raw)));
    const properties: Record<string, object> = { ...memberSchemas(documents, 'documents of a sample') };
    for (const [member, known] of Object.entries(SET_BY_SERVER)) {
      if (Object.hasOwn(properties, member)) properties[member] = { ...properties[member], ...known };
    }
    return {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: labelOf(name),
      type: 'object',
      properties,
      additionalProperties: true,
    };
  }
}

/** What is said of members that no client sets after the document was made. */
const SET_BY_SERVER: Readonly<Record<string, object>> = {
  id: { description: 'Names the document in its collection.', type: 'string' },
  _meta: { description: 'Set by the server.', readOnly: true },
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
