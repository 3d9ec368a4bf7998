/**
 * What every change of a document by paths has to keep to: names that may be stored, members that are the server's own,
 * depth, and an amount of work. Not here: how a path is written (json-patch.ts, dotted-path.ts).
 */
import { keyProblem, pointerTo } from '../database/json-faults.ts';
import { MAX_DEPTH } from '../database/parse-json.ts';
import { isPlain } from '../database/wire-values.ts';
import { MillraceError } from '../kernel/errors.ts';

/** Operations of one patch, or paths of one update. */
export const MAX_OPERATIONS = 1_000;
/** How much a patch may add to a document by copying, in bytes (about): no document is larger than this. */
const MAX_GROWTH = 16 * 1024 * 1024;
/** How much a patch may look at and copy in memory, in bytes (about). */
const MAX_WORK = 64 * 1024 * 1024;
/** Bytes that a value counts beside its text. */
const CELL = 8;

/** Members that the server sets; a patch may read them. */
const OWN: ReadonlySet<string> = new Set(['id', '_id', '_meta', '_expanded']);

/** The refusal of a patch, or of one part of it. */
export function invalidPatch(message: string, hint?: string): MillraceError {
  return new MillraceError('invalid-patch', message, hint === undefined ? {} : { hint });
}

/**
 * Holds the path of a change to what may be changed.
 * @throws MillraceError `invalid-patch` for the server's own members, `unsupported-key` for names that cannot be stored
 */
export function checkChangedPath(path: readonly string[]): void {
  const [first] = path;
  if (first !== undefined && OWN.has(first))
    throw invalidPatch(`'${first}' is set by the server and cannot be changed`);
  for (let length = 1; length <= path.length; length++) {
    const problem = keyProblem(path.slice(0, length), path[length - 1] ?? '');
    if (problem !== null) refuseKey(path.slice(0, length), problem);
  }
}

/** Holds a new member to what one document may hold: no hidden prototype, no deeper than 100 levels. */
export function checkChange(path: readonly string[], value: unknown, budget: Budget): void {
  if (path.at(-1) === 'constructor' && isPlain(value) && Object.hasOwn(value, 'prototype')) {
    refuseKey([...path, 'prototype'], 'The key "constructor" may not hold a "prototype"');
  }
  if (path.length + budget.measure(value).depth > MAX_DEPTH) {
    throw new MillraceError('too-deep', `The document would be nested more than ${MAX_DEPTH} levels deep`);
  }
}

function refuseKey(path: readonly string[], detail: string): never {
  throw new MillraceError('unsupported-key', detail, {
    faults: [{ pointer: pointerTo(path).toWellFormed(), code: 'unsupported-key', detail }],
  });
}

export interface Measure {
  /** Levels of nesting: 0 for a scalar. */
  readonly depth: number;
  /** Size in bytes, about. */
  readonly bytes: number;
}

/** What one patch may still use up. Copies of copies double with every step, so they are counted before they are made. */
export class Budget {
  #growth = MAX_GROWTH;
  #work = MAX_WORK;

  /** Counts the bytes that a copy adds. */
  grow(bytes: number): void {
    this.#growth -= bytes;
    if (this.#growth < 0) throw new MillraceError('document-too-large', 'The patch makes the document too large');
  }

  /** Counts cells that are visited or moved. */
  work(cells: number): void {
    this.#work -= cells * CELL;
    if (this.#work < 0) throw invalidPatch('The patch moves too much at once', 'Send it in several requests');
  }

  /** The depth and size of a value; measuring counts as work. */
  measure(value: unknown): Measure {
    this.work(1);
    if (typeof value === 'string') return { depth: 0, bytes: CELL + value.length };
    const inner = Array.isArray(value) ? value : isPlain(value) ? Object.values(value) : null;
    if (inner === null) return { depth: 0, bytes: 2 * CELL };
    let depth = 0;
    let bytes = CELL;
    for (const item of inner) {
      const measured = this.measure(item);
      depth = Math.max(depth, measured.depth);
      bytes += measured.bytes;
    }
    return { depth: depth + 1, bytes };
  }
}
