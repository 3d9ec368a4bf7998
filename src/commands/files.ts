/**
 * `millrace files move`: moves all files into the store for new files, the first one in MILLRACE_FILE_STORAGE; the other stores
 * are only read. The server may run meanwhile. Ctrl-C stops after the current file, and the next run continues.
 */
import { parseArgs } from 'node:util';
import { type Environment, loadConfig } from '../config/config.ts';
import { moveFiles } from '../files/file-migration.ts';
import { openFileStores } from '../files/services.ts';
import { type CommandOutcome, explainError } from './commands.ts';
import { withDatabase } from './with-database.ts';

const USAGE = `From a clone npm run files -- …, from an image or a package millrace files …

millrace files move

  Moves every file to the first store in MILLRACE_FILE_STORAGE. List the stores that still contain files after it:
  MILLRACE_FILE_STORAGE='s3://pictures?endpoint=http://127.0.0.1:9000 gridfs' millrace files move`;

export async function files(words: readonly string[], env: Environment): Promise<CommandOutcome> {
  const { values, positionals } = parseArgs({
    args: [...words],
    options: { help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
  });
  if (values.help || positionals.join(' ') !== 'move') return { text: USAGE, failed: !values.help && words.length > 0 };
  const config = loadConfig(env);
  const stop = new AbortController();
  process.on('SIGINT', () => stop.abort());
  return withDatabase(config, async (mongo) => {
    await using cleanup = new AsyncDisposableStack();
    const stores = await openFileStores({
      mongo,
      stores: config.files.stores,
      queryTimeoutMs: config.collections.queryTimeoutMs,
      onError: (error) => console.error(explainError(error)),
      cleanup,
    });
    return { failed: !(await follow(stores, stop.signal)) };
  });
}

/**
 * Shows the progress: one updated line in a terminal, elsewhere one line per file.
 * @returns false if a file could not be moved
 */
async function follow(stores: Parameters<typeof moveFiles>[0], signal: AbortSignal): Promise<boolean> {
  const target = stores.current.name;
  let failed = 0;
  let last = `Nothing to move: every file is in ${target}.`;
  for await (const { moved, gone, failed: so, total, bytes, file, error } of moveFiles(stores, signal)) {
    failed = so;
    if (error !== undefined) console.error(`\n${file.key} ${file.name}: ${explainError(error)}`);
    last = `${moved + gone + failed} of ${total}: ${moved} moved to ${target} (${Math.round(bytes / 1e6)} MB)`;
    if (failed > 0) last += `, ${failed} failed`;
    process.stdout.write(process.stdout.isTTY ? `\r${last}` : `${last}\n`);
  }
  console.log(process.stdout.isTTY ? `\r${last}` : last);
  if (signal.aborted) console.log('Stopped. Run the command again to continue.');
  return failed === 0;
}
