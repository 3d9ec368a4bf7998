/** The test files to run, and their order. */
import { globSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';

/** The end of a test file's name. */
const ENDING = '.test.ts';
/** The end of the name of a file that belongs to the long profile; otherwise it runs only where it is named. */
const LONG_ENDING = '.long.test.ts';

/**
 * The slowest files; files of one entry share a process. One lane runs entries from the first on, one after the other,
 * while the others run the rest, and then these from the last one on. The lanes meet among those that take 20 s, in the
 * middle: after a longer one all other lanes would wait for it. A run of all tests prints at its end which files take
 * longest.
 */
export const LONGEST: readonly (readonly string[])[] = [
  ['test/openapi-contract.test.ts'],
  ['test/events/idle.test.ts'],
  ['test/realtime/attacks/client-memory.test.ts'],
  ['test/dashboard/data.test.ts', 'test/dashboard/documents.test.ts', 'test/dashboard/files.test.ts'],
  ['test/dashboard/phone/phone.test.ts'],
  ['test/dashboard/functions.test.ts', 'test/dashboard/webhooks/webhooks.test.ts', 'test/dashboard/events.test.ts'],
  ['test/torture/webhooks.test.ts'],
  [
    'test/dashboard/policies.test.ts',
    'test/dashboard/settings.test.ts',
    'test/dashboard/overview.test.ts',
    'test/dashboard/security.test.ts',
  ],
  ['test/dashboard/users.test.ts', 'test/dashboard/sign-in/setup.test.ts', 'test/dashboard/sign-in/shell.test.ts'],
  ['test/torture/crash.test.ts'],
  ['test/files/large.test.ts'],
  ['test/files/browser.test.ts'],
  ['test/policies/agreement/property.test.ts'],
  ['test/realtime/agreement/agreement-policies.test.ts'],
  ['test/functions/hooks/every-write.test.ts'],
  ['test/collections/large-writes.test.ts'],
  ['test/integrations/openapi-clients/typed-client.test.ts'],
  ['test/realtime/subscription/resume.test.ts'],
  ['test/files/move.test.ts', 'test/files/aborts.test.ts'],
  ['test/policies/matrix.test.ts'],
  ['test/scripts/start.test.ts'],
  ['test/auth/oauth/forged-responses.test.ts', 'test/auth/sign-in/admins.test.ts'],
  ['test/torture/torture.test.ts', 'test/torture/live.test.ts'],
  ['test/events/history.test.ts', 'test/events/large.test.ts'],
  [
    'test/database/embedded-access.test.ts',
    'test/database/embedded-crash.test.ts',
    'test/database/embedded-takeover.test.ts',
  ],
];

/**
 * Files that run last, one entry after the other: they measure how long one client waits while others attack, or they
 * need both processors to end in time. Files of one entry run concurrently: together they use less than the two
 * processors, and the times that they check are seconds, or processor time.
 */
export const MEASURING: readonly (readonly string[])[] = [
  ['test/torture/functions.test.ts'],
  ['test/functions/sandbox/attacks.test.ts'],
  ['test/realtime/attacks/expensive-questions.test.ts', 'test/realtime/attacks/read-log-attack.test.ts'],
  ['test/collections/http/hostile.test.ts', 'test/torture/slow-readers.test.ts'],
];

/** The content of a file that needs its own process: it watches its process, or ends it. */
const OF_ITS_OWN = /process\.(?:on\(|exit|memoryUsage|cpuUsage|getActive)|eventLoop/;
/** Files of one process: loading the program takes a second of the processor, which they share. */
const SHARED = 20;

export interface TestFiles {
  /** Files that may run concurrently, the longest first; each entry is a process, with one file or a few. */
  readonly together: readonly (readonly string[])[];
  /** Files to run after these, one entry at a time; files of one entry concurrently, each in its own process. */
  readonly last: readonly (readonly string[])[];
}

/**
 * The files to run.
 * @param root the folder of the project, absolute
 * @param requested files and folders, relative to the current folder; none for all tests
 * @throws Error if one of them does not exist or has no test
 */
export function testFiles(root: string, requested: readonly string[]): TestFiles {
  const found =
    requested.length === 0 ? testsIn(join(root, 'test')) : requested.flatMap((path) => named(resolve(path)));
  const files = new Set(found.map((path) => relative(root, path)).sort());
  const take = (entries: readonly (readonly string[])[]) =>
    entries.map((entry) => entry.filter((file) => files.delete(file))).filter(({ length }) => length > 0);
  const last = take(MEASURING);
  const longest = take(LONGEST);
  return { together: [...longest, ...shared(root, [...files])], last };
}

/** Groups neighbors that do not need their own process. */
function shared(root: string, files: readonly string[]): string[][] {
  const isOwn = (file: string) => OF_ITS_OWN.test(readFileSync(join(root, file), 'utf8'));
  const { own = [], other = [] } = Object.groupBy(files, (file) => (isOwn(file) ? 'own' : 'other'));
  const groups = own.map((file) => [file]);
  for (let first = 0; first < other.length; first += SHARED) groups.push(other.slice(first, first + SHARED));
  return groups;
}

/** The name of a process in the output: its file, or its folders with the names of their files. */
export function nameOf(files: readonly string[]): string {
  const [first = ''] = files;
  if (files.length === 1) return first;
  const folders = Object.entries(Object.groupBy(files, dirname));
  return folders
    .map(([folder, of = []]) => `${folder}: ${of.map((file) => basename(file, ENDING)).join(', ')}`)
    .join('; ');
}

function named(path: string): readonly string[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile()) return [path];
  const found = stats?.isDirectory() ? testsIn(path) : [];
  if (found.length === 0) throw new Error(`There is no test ${path}: a file, or a folder with files *${ENDING}.`);
  return found;
}

function testsIn(folder: string): readonly string[] {
  const isLong = process.env['MILLRACE_LONG'] === '1';
  return globSync(`**/*${ENDING}`, { cwd: folder })
    .filter((path) => isLong || !path.endsWith(LONG_ENDING))
    .map((path) => join(folder, path));
}
