/**
 * Which members the documents of a collection show to one Scope, told from a sample of the newest ones. For hints about
 * answers that found nothing: the sample is read through the Scope, so a hint tells nothing that a list would not show.
 */
import type { Document } from 'mongodb';
import { readStored } from '../../database/bson/stored.ts';
import { type CollectionName, wirePath } from '../../database/names.ts';
import { mapInTurns } from '../../kernel/concurrency/pauses.ts';
import { toDatabaseFilter } from '../../policies/reach.ts';
import type { Scope } from '../../policies/scope.ts';
import { isMembers, type Members } from '../../query/evaluate/order.ts';
import { isPosition } from '../../query/paths.ts';
import type { DocumentStore } from '../store/store.ts';
import { seenBytes } from './document-view.ts';

/** Documents of a sample. */
const SAMPLE = 50;
/** Database time of one sample; without one there is no hint. */
const SAMPLE_MS = 200;
/** Samples that are read at a time; beyond that there is no hint. */
const AT_ONCE = 2;
/** How long a member that was found in a sample counts as shown. */
const SHOWN_MS = 60_000;
/** Members that are remembered as shown to one Scope, at most. */
const MAX_SHOWN = 200;
/** Names of one sample, and levels of objects that they are taken from. */
const MAX_NAMES = 300;
const MAX_DEPTH = 4;

/** What a sample shows of some members. */
export interface Unshown {
  /** Wire paths of the members that no document of the sample has. */
  readonly paths: readonly string[];
  /** Wire paths of members that the sample has. */
  readonly names: readonly string[];
  /** How many documents were looked at. */
  readonly documents: number;
  /** True if these are all documents that the Scope reaches. */
  readonly all: boolean;
}

export class ShownMembers {
  readonly #store: DocumentStore;
  /** Until when a member of a collection counts as shown, by the grants that show it. */
  readonly #shown = new WeakMap<Scope['grants'], Map<string, number>>();
  #running = 0;

  constructor(store: DocumentStore) {
    this.#store = store;
  }

  /**
   * Which of the members no document of a sample has. Members that were seen lately are not looked for again.
   * @param paths stored paths
   * @returns null when all of them are shown, the Scope reaches no document, or there is no time to look
   */
  async unshown(scope: Scope<'read'>, name: CollectionName, paths: Iterable<string>): Promise<Unshown | null> {
    const asked = [...paths].filter((path) => path !== '_id' && !this.#isShown(scope, name, path));
    if (asked.length === 0 || this.#running >= AT_ONCE) return null;
    this.#running++;
    try {
      const { documents, all } = await this.#sample(scope, name);
      const [has, lacks] = [new Set<string>(), new Set<string>()];
      for (const path of asked) {
        const steps = path.split('.');
        (documents.some((document) => hasPath(document, steps)) ? has : lacks).add(path);
      }
      for (const path of has) this.#remember(scope, name, path);
      if (documents.length === 0 || lacks.size === 0) return null;
      return { paths: [...lacks].map(wirePath), names: namesOf(documents), documents: documents.length, all };
    } catch {
      // A hint is not worth an error: the answer itself was found.
      return null;
    } finally {
      this.#running--;
    }
  }

  async #sample(scope: Scope<'read'>, name: CollectionName): Promise<{ documents: readonly Document[]; all: boolean }> {
    const options = { sort: new Map([['_id', -1 as const]]), limit: SAMPLE, maxTimeMS: SAMPLE_MS };
    const { documents, more = false } = await this.#store.page(name, toDatabaseFilter(scope), options);
    const seen = (await mapInTurns(documents, (raw) => seenBytes(scope, raw, true))).filter((raw) => raw !== null);
    return { documents: seen.map(readStored), all: !more && documents.length < SAMPLE };
  }

  #isShown({ grants }: Scope<'read'>, name: CollectionName, path: string): boolean {
    return (this.#shown.get(grants)?.get(`${name}/${path}`) ?? 0) > performance.now();
  }

  #remember({ grants }: Scope<'read'>, name: CollectionName, path: string): void {
    const shown = this.#shown.get(grants) ?? new Map<string, number>();
    if (shown.size >= MAX_SHOWN) shown.clear();
    this.#shown.set(grants, shown.set(`${name}/${path}`, performance.now() + SHOWN_MS));
  }
}

/** Whether a path leads to a value, through arrays as filters do. */
function hasPath(node: unknown, steps: readonly string[]): boolean {
  const [step, ...rest] = steps;
  if (step === undefined) return node !== undefined;
  if (Array.isArray(node)) {
    if (isPosition(step) && hasPath(node[Number(step)], rest)) return true;
    return node.some((element) => isMembers(element) && hasPath(element, steps));
  }
  return isMembers(node) && Object.hasOwn(node, step) && hasPath(node[step], rest);
}

/** Names of members as clients write them, those of the first documents first. */
function namesOf(documents: readonly Document[]): readonly string[] {
  const names = new Set<string>();
  for (const document of documents) collectNames(document, '', MAX_DEPTH, names);
  return [...names];
}

function collectNames(node: Members, prefix: string, depth: number, names: Set<string>): void {
  for (const [name, value] of Object.entries(node)) {
    if (names.size >= MAX_NAMES) return;
    if (prefix === '' && name === '_meta') continue;
    const path = prefix + name;
    names.add(wirePath(path));
    if (depth === 1) continue;
    for (const inner of Array.isArray(value) ? value : [value]) {
      if (isMembers(inner)) collectNames(inner, `${path}.`, depth - 1, names);
    }
  }
}
