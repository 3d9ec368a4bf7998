/**
 * Exclusive use of one data folder. Whether it is in use is derived from the running processes, because a lock file
 * alone could be stale: mongod.lock names the mongod, its parent process is our watchdog, and the watchdog's command
 * line names its program. If two programs start at the same moment, MongoDB's own lock on the folder lets one of them
 * fail (embedded.ts reports it).
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '../../lib/errors.ts';
import { findProcess, type ProcessInfo, sendSignal, waitForProcessExit } from './process-info.ts';

/** How long a mongod whose program has ended may take to close its files. */
const END_LIMIT_MS = 15_000;
const KILL_LIMIT_MS = 5000;

/** The word in the watchdog's command line that marks it as ours; `pid:started` of its program follows. */
export const WATCHDOG_MARKER = 'millrace-watchdog';

/** The user of a data folder: its mongod, and the program that the mongod belongs to, if that program is running. */
export interface DataFolderHolder {
  readonly mongod: ProcessInfo;
  readonly owner: ProcessInfo | null;
}

/** Finds the mongod that uses `data` (an absolute path); null if none does. */
export async function findDataFolderHolder(data: string): Promise<DataFolderHolder | null> {
  const lock = await readFile(join(data, 'mongod.lock'), 'utf8').catch(() => '');
  const mongod = await findProcess(Number.parseInt(lock, 10));
  // A mongod that is exiting has no command line any more, but its files are open.
  if (mongod === null || !(mongod.command === '' || mongod.command.includes(data))) return null;
  const watchdog = await findProcess(mongod.parent);
  const named = new RegExp(`${WATCHDOG_MARKER}[\\0 ](\\d+):([^\\0 ]+)`).exec(watchdog?.command ?? '');
  if (watchdog === null || named === null) return { mongod, owner: null };
  const owner = await findProcess(Number(named[1]));
  return { mongod, owner: owner?.started === named[2] ? owner : null };
}

/**
 * Checks that the folder is not in use: fails if a running program uses it, and ends a mongod that a killed program
 * left.
 * @throws MillraceError `database-unavailable`, with a hint, if the folder stays in use.
 */
export async function claimDataFolder(data: string, onProgress: (line: string) => void): Promise<void> {
  const holder = await findDataFolderHolder(data);
  if (holder === null) return;
  if (holder.owner !== null) throw folderInUseError(data, holder.owner.pid);
  onProgress('An earlier run was killed; waiting for its MongoDB to close its files.');
  for (const [name, limitMs] of [
    ['SIGTERM', END_LIMIT_MS],
    ['SIGKILL', KILL_LIMIT_MS],
  ] as const) {
    const requested = holder.mongod.command === '' || sendSignal(holder.mongod.pid, name);
    if (await waitForProcessExit(holder.mongod, requested ? limitMs : 0)) return;
  }
  throw folderInUseError(data, holder.mongod.pid);
}

/** The error for a folder in use; `pid` is the program that uses it, if known. */
export function folderInUseError(data: string, pid: number | null): MillraceError {
  const who = pid === null ? 'another program' : `the running program ${pid}`;
  return new MillraceError('database-unavailable', `The data folder ${data} is in use by ${who}.`, {
    hint: `Use that one, ${pid === null ? 'end it' : `end it (kill ${pid})`}, or start in another folder.`,
  });
}
