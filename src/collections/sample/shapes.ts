/**
 * What the documents of a collection look like, for people: members by path with their types, examples and likely references, from
 * a sample of the newest documents and some at random. Not here: what the contract says of a collection (seen-collections.ts).
 */
import type { Principal } from '../../auth/identity/principal.ts';
import type { CollectionName } from '../../database/names.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Scope } from '../../policies/scope.ts';
import type { Collections } from '../collections.ts';
import type { Registry } from '../registry.ts';
import { type MemberShape, membersOf } from './member-shapes.ts';
import { likelyReferences } from './references.ts';

const NEWEST = 500;
const RANDOM = 500;
/** How long all of it may take, in milliseconds. */
const MAX_MS = 2_000;
/** How long each of the two reads of the sample may take, in milliseconds. */
const READ_MS = 800;
/** How long one look-up of ids may take, in milliseconds. */
const LOOKUP_MS = 100;

export interface CollectionShape {
  /** Number of documents in the sample. */
  readonly sampled: number;
  /** False if documents, members or references are left out because of a limit. */
  readonly complete: boolean;
  readonly members: readonly (MemberShape & { readonly reference?: { readonly collection: CollectionName } })[];
}

export interface ShapesParts {
  readonly collections: Pick<Collections, 'sample' | 'holdsAny'>;
  readonly registry: Pick<Registry, 'names'>;
  readonly policies: Pick<Policies, 'find'>;
}

export class Shapes {
  readonly #parts: ShapesParts;

  constructor(parts: ShapesParts) {
    this.#parts = parts;
  }

  /**
   * The shape of a collection as a reader may see it. References are told to collections that the same principal may read.
   * @throws MillraceError `resource-not-available` when the collection was never created
   */
  async of(scope: Scope<'read'>, name: CollectionName): Promise<CollectionShape> {
    const { collections, registry } = this.#parts;
    const until = performance.now() + MAX_MS;
    const sample = await collections.sample(scope, name, { newest: NEWEST, random: RANDOM, timeoutMs: READ_MS });
    const { members, complete } = await membersOf(sample.documents, until);
    const names = await registry.names();
    const holdsAny = (other: CollectionName, ids: readonly string[]) => this.#holdsAny(scope.principal, other, ids);
    const references = await likelyReferences(members, names, holdsAny, until);
    return {
      sampled: sample.documents.length,
      complete: sample.complete && complete && performance.now() <= until,
      members: members.map(({ shape }) => {
        const collection = references.get(shape.path);
        return collection === undefined ? shape : { ...shape, reference: { collection } };
      }),
    };
  }

  /** A collection that cannot be asked, such as a broken view, is no reference. */
  async #holdsAny(principal: Principal, name: CollectionName, ids: readonly string[]): Promise<boolean> {
    const scope = this.#parts.policies.find(principal, 'read', name);
    if (scope === null) return false;
    return this.#parts.collections.holdsAny(scope, name, ids, LOOKUP_MS).catch((error: unknown) => {
      if (error instanceof MillraceError) return false;
      throw error;
    });
  }
}
