/**
 * Pauses within long work on one document in memory, so that reading a large document or asking it an expensive filter
 * does not delay other work. The work is a plain function. Where it may take long it notes its progress (`progress`,
 * `once`) and then allows a pause (`pause`). Run by `inTurns`, it stops there when its time is over and is called again
 * later: it skips what is noted and goes on. Run without `inTurns`, it never stops.
 */
import { setImmediate as otherWork } from 'node:timers/promises';

/** Milliseconds without a pause. */
const SLICE_MS = 5;

interface Noted<T> {
  readonly subject: unknown;
  readonly value: T;
}

/** What is thrown to pause. One object for all, because making an error takes longer than many an evaluation. */
const PAUSING = new Error('The evaluation pauses');

/** One evaluation that is run with pauses: its progress, and when its slice of time ends. */
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
    // Each slice is a little longer, so that every evaluation ends, even if little of its progress could be noted.
    this.#end = performance.now() + this.#sliceMs * (1 + this.#slices / 64);
    this.#slices += 1;
  }
}

/** The current evaluation. Evaluation never waits inside, so there is at most one. */
let current: Run | null = null;

/**
 * Runs `work` to its end, a few milliseconds at a time.
 * @param work reads documents and changes nothing; it is called several times, each time with the same documents
 * @param turn resolves when the next slice may begin; after whatever else is ready, when left out
 * @param sliceMs milliseconds without a pause
 */
export async function inTurns<T>(
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
 * What `map` makes of each item, in their order. Others get their turn after every few milliseconds: between items, and
 * within one where `map` waits.
 */
export async function mapInTurns<T, R>(items: Iterable<T>, map: (item: T) => R | Promise<R>): Promise<R[]> {
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

/** The result of `work` in one slice of time; null when it paused. */
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

/** Whether the work that runs now may pause: progress need not be noted otherwise. */
export function mayPause(): boolean {
  return current !== null;
}

/** Call this when all progress is noted: a pause may come here. */
export function pause(): void {
  if (current?.isOver) throw PAUSING;
}

/** After so many steps a pause may come: reading the clock takes longer than a step. */
const STEPS = 64;
let steps = 0;

/** Call this after each small step of long work, when its progress is noted: after many of them a pause may come. */
export function step(): void {
  steps += 1;
  if (steps % STEPS === 0) pause();
}

/** The result of `ask` for a subject, noted so that it is computed once. Only the last subject is noted. */
export function once<S>(ask: (subject: S) => boolean, subject: S): boolean {
  if (current === null) return ask(subject);
  const noted = current.noted.get(ask);
  if (noted !== undefined && noted.subject === subject) return noted.value as boolean;
  const value = ask(subject);
  current.noted.set(ask, { subject, value });
  pause();
  return value;
}

/**
 * The progress of `owner` with a subject, as an object that it changes while it goes on.
 * @param begin makes that object when the subject is not the same as before
 */
export function progress<T extends object>(owner: object, subject: unknown, begin: () => T): T {
  if (current === null) return begin();
  const noted = current.noted.get(owner);
  if (noted !== undefined && noted.subject === subject) return noted.value as T;
  const value = begin();
  current.noted.set(owner, { subject, value });
  return value;
}

/** Forgets the progress of `owner`, for work whose result is kept elsewhere. */
export function forget(owner: object): void {
  current?.noted.delete(owner);
}

/**
 * True if an element of the array passes.
 * @param owner the key under which progress is noted; for one owner only the last array is noted
 */
export function someElement(owner: object, array: readonly unknown[], ask: (element: unknown) => boolean): boolean {
  if (current === null) return array.some(ask);
  const done = progress(owner, array, () => ({ at: 0 }));
  while (done.at < array.length) {
    if (ask(array[done.at])) return true;
    done.at += 1;
    step();
  }
  return false;
}
