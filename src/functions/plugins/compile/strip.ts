/**
 * Takes the types out of the TypeScript of a plugin, in a thread that lives as long as that takes. Not here: what is done in
 * the thread (strip-thread.ts).
 */
import { Worker } from 'node:worker_threads';
import { Semaphore } from '../../../kernel/concurrency/semaphore.ts';
import { isPlain } from '../../../kernel/objects.ts';
import type { BundleFault } from '../../sandbox/sandbox.ts';

/** Milliseconds for all files of one plugin: a megabyte takes less than one second. */
const MOST_MS = 10_000;
const HEAP_MB = 512;
/** In dist/ the thread is JavaScript, as this file is. */
const THREAD = new URL(`./strip-thread${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`, import.meta.url);

export interface Stripped {
  /** JavaScript by path, of the files without a fault. */
  readonly code: ReadonlyMap<string, string>;
  readonly faults: readonly BundleFault[];
}

/** Threads at one time, and plugins that wait for one: each takes a core for a moment. */
const threads = new Semaphore(2, 100);

/**
 * @param sources TypeScript by path
 * @throws MillraceError `overloaded` when too many wait already
 */
export async function strip(sources: ReadonlyMap<string, string>): Promise<Stripped> {
  if (sources.size === 0) return { code: new Map(), faults: [] };
  return threads.run(() => stripped(sources));
}

async function stripped(sources: ReadonlyMap<string, string>): Promise<Stripped> {
  const code = new Map<string, string>();
  const faults: BundleFault[] = [];
  const thread = new Worker(THREAD, {
    workerData: [...sources],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  const timer = setTimeout(() => void thread.terminate(), MOST_MS);
  const failure = await new Promise<unknown>((resolve) => {
    thread.on('message', (told: unknown) => {
      const one = isPlain(told) ? told : {};
      if (typeof one['path'] !== 'string') return;
      if (typeof one['code'] === 'string') code.set(one['path'], one['code']);
      else faults.push(toFault(one['path'], one));
    });
    thread.on('error', resolve);
    thread.on('exit', () => resolve(null));
  });
  clearTimeout(timer);
  for (const path of sources.keys()) {
    if (code.has(path) || faults.some(({ file }) => file === path)) continue;
    // The files are parsed in order, so it is the first one of the rest that takes too long or too much.
    if (faults.length > 0) break;
    const why = failure instanceof Error ? ` (${failure.message.slice(0, 80)})` : '';
    faults.push(toFault(path, { message: `cannot be parsed: it takes too long or too much memory${why}` }));
  }
  return { code, faults };
}

function toFault(file: string, { message, line, column }: Record<string, unknown>): BundleFault {
  return {
    file,
    line: typeof line === 'number' ? line : null,
    // The parser counts columns from 0.
    column: typeof column === 'number' ? column + 1 : null,
    message: String(message).slice(0, 200),
  };
}
