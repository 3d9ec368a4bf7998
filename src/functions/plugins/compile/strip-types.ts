/** Strips the TypeScript types of a plugin, in a short-lived thread. */
import { Worker } from 'node:worker_threads';
import { Semaphore } from '../../../lib/concurrency/semaphore.ts';
import { isPlainObject } from '../../../lib/plain-object.ts';
import type { BundleError } from '../../sandbox/sandbox.ts';

/** Milliseconds for all files of one plugin: a megabyte takes less than one second. */
const MOST_MS = 10_000;
const HEAP_MB = 512;
/** In dist/ the thread is JavaScript, as this file is. */
const THREAD = new URL(`./strip-thread${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`, import.meta.url);

export interface StripResult {
  /** JavaScript by path, of the files without errors. */
  readonly code: ReadonlyMap<string, string>;
  readonly diagnostics: readonly BundleError[];
}

/** Concurrent threads, and waiting plugins: each uses a core briefly. */
const threads = new Semaphore(2, 100);

/**
 * @param sources TypeScript by path
 * @throws MillraceError `overloaded` when too many plugins wait
 */
export async function stripTypes(sources: ReadonlyMap<string, string>): Promise<StripResult> {
  if (sources.size === 0) return { code: new Map(), diagnostics: [] };
  return threads.run(() => stripped(sources));
}

async function stripped(sources: ReadonlyMap<string, string>): Promise<StripResult> {
  const code = new Map<string, string>();
  const diagnostics: BundleError[] = [];
  const thread = new Worker(THREAD, {
    workerData: [...sources],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  const timer = setTimeout(() => void thread.terminate(), MOST_MS);
  const failure = await new Promise<unknown>((resolve) => {
    thread.on('message', (reported: unknown) => {
      const one = isPlainObject(reported) ? reported : {};
      if (typeof one['path'] !== 'string') return;
      if (typeof one['code'] === 'string') code.set(one['path'], one['code']);
      else diagnostics.push(toIssue(one['path'], one));
    });
    thread.on('error', resolve);
    thread.on('exit', () => resolve(null));
  });
  clearTimeout(timer);
  for (const path of sources.keys()) {
    if (code.has(path) || diagnostics.some(({ file }) => file === path)) continue;
    // The files are parsed in order, so the first unfinished one exceeded the limit.
    if (diagnostics.length > 0) break;
    const why = failure instanceof Error ? ` (${failure.message.slice(0, 80)})` : '';
    diagnostics.push(toIssue(path, { message: `cannot be parsed: it takes too much time or memory${why}` }));
  }
  return { code, diagnostics };
}

function toIssue(file: string, { message, line, column }: Record<string, unknown>): BundleError {
  return {
    file,
    line: typeof line === 'number' ? line : null,
    // The parser counts columns from 0.
    column: typeof column === 'number' ? column + 1 : null,
    message: String(message).slice(0, 200),
  };
}
