/**
 * Cooperative yields within long work on one document in memory, so that reading a large document or evaluating an
 * expensive filter does not delay other work. The work is a plain function. Where it may take long it stores its
 * progress (`resumableProgress`, `evaluateWithCheckpoint`) and then allows a yield (`yieldIfDue`). Run by `runCooperatively`, it
 * stops there when its time slice is over and is called again later: it skips stored progress and continues. Otherwise
 * it never stops.
 */
import { setImmediate as otherWork } from 'node:timers/promises';

/** Milliseconds without a yield. */
const SLICE_MS = 5;

interface Noted<T> {
  readonly subject: unknown;
  readonly value: T;
}

/** Thrown to yield. One object for all, because creating an error takes longer than many evaluations. */
const PAUSING = new Error('The evaluation pauses');

/** One evaluation that can yield: its progress, and the end of its time slice. */
class Run {
  readonly noted = new Map<object, Noted<unknown>>();
  readonly #sliceMs: number;
  #slices = 0;
  #end = 0;

  constructor(sliceMs: number) {
    this.#sliceMs = sliceMs;
  }

  get isOver(): boolean {
    return performance.now() >= this.#end;
  }

  begin(): void {
    // Each slice is slightly longer, so that every evaluation ends, even if little of its progress could be stored.
    this.#end = performance.now() + this.#sliceMs * (1 + this.#slices / 64);
    this.#slices += 1;
  }
}

/** The current evaluation. Evaluation never awaits, so there is at most one. */
let current: Run | null = null;

/**
 * Runs `work` to its end, a few milliseconds at a time.
 * @param work reads documents and changes nothing; it is called several times, each time with the same documents
 * @param turn resolves when the next slice may begin; by default it yields to whatever else is ready
 * @param sliceMs milliseconds without a yield
 */
export async function runCooperatively<T>(
  work: () => T,
  turn: () => Promise<unknown> = () => otherWork(),
  sliceMs = SLICE_MS,
): Promise<T> {
  const run = new Run(sliceMs);
  for (;;) {
    const done = slice(run, work);
    if (done !== null) return done.result;
    await turn();
  }
}

/**
 * The results of `map` for each item, in order. It yields every few milliseconds: between items, and within one where
 * `map` awaits.
 */
export async function mapCooperatively<T, R>(items: Iterable<T>, map: (item: T) => R | Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let end = performance.now() + SLICE_MS;
  for (const item of items) {
    results.push(await map(item));
    if (performance.now() < end) continue;
    await otherWork();
    end = performance.now() + SLICE_MS;
  }
  return results;
}

/** The result of `work` in one time slice; null if it yielded. */
function slice<T>(run: Run, work: () => T): { readonly result: T } | null {
  const outer = current;
  current = run;
  run.begin();
  try {
    return { result: work() };
  } catch (error) {
    if (error !== PAUSING) throw error;
    return null;
  } finally {
    current = outer;
  }
}

/** Whether the running work can yield: otherwise progress need not be stored. */
export function canYield(): boolean {
  return current !== null;
}

/** Call this when all progress is stored: it may yield. */
export function yieldIfDue(): void {
  if (current?.isOver) throw PAUSING;
}

/** A yield is possible after this many steps: reading the clock takes longer than a step. */
const STEPS = 64;
let steps = 0;

/** Call this after each small step of long work, when its progress is stored: it may yield after many of them. */
export function countStepAndYield(): void {
  steps += 1;
  if (steps % STEPS === 0) yieldIfDue();
}

/** The result of `request` for a subject, cached. Only the last subject is cached. */
export function evaluateWithCheckpoint<S>(request: (subject: S) => boolean, subject: S): boolean {
  if (current === null) return request(subject);
  const noted = current.noted.get(request);
  if (noted !== undefined && noted.subject === subject) return noted.value as boolean;
  const value = request(subject);
  current.noted.set(request, { subject, value });
  yieldIfDue();
  return value;
}

/**
 * The progress of `owner` with a subject, as a mutable object.
 * @param begin creates that object if the subject differs from the last one
 */
export function resumableProgress<T extends object>(owner: object, subject: unknown, begin: () => T): T {
  if (current === null) return begin();
  const noted = current.noted.get(owner);
  if (noted !== undefined && noted.subject === subject) return noted.value as T;
  const value = begin();
  current.noted.set(owner, { subject, value });
  return value;
}

/** Removes the progress of `owner`, for work whose result is cached elsewhere. */
export function clearResumableProgress(owner: object): void {
  current?.noted.delete(owner);
}

/**
 * True if an element of the array passes.
 * @param owner the key of the progress; for one owner only the last array is stored
 */
export function someCooperatively(
  owner: object,
  array: readonly unknown[],
  request: (element: unknown) => boolean,
): boolean {
  if (current === null) return array.some(request);
  const done = resumableProgress(owner, array, () => ({ at: 0 }));
  while (done.at < array.length) {
    if (request(array[done.at])) return true;
    done.at += 1;
    countStepAndYield();
  }
  return false;
}
