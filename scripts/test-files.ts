/**
 * Which test files are run, and in which order. Not here: running them (run-tests.ts).
 */
import { globSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';

/** The end of a test file's name. */
const ENDING = '.test.ts';

/**
 * The files that take longest; files of one entry share a process. One lane takes entries from the first on, one after the other, while
 * the others run the rest, and come to these from the last one on. The lanes meet among those that take 20 s, in the middle: after a
 * longer one all other lanes would wait for it. A run of all tests says at its end which files take longest.
 */
export const LONGEST: readonly (readonly string[])[] = [
  ['test/contract.test.ts'],
  ['test/events/idle.test.ts'],
  ['test/realtime/attacks/held-memory.test.ts'],
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
  ['test/functions/before/every-write.test.ts'],
  ['test/collections/large-writes.test.ts'],
  ['test/http/openapi/typed-client.test.ts'],
  ['test/realtime/subscription/resume.test.ts'],
  ['test/files/move.test.ts', 'test/files/aborts.test.ts'],
  ['test/policies/matrix.test.ts'],
  ['test/scripts/start.test.ts'],
  ['test/auth/flows/lies.test.ts', 'test/auth/sign-in/owners.test.ts'],
  ['test/torture/torture.test.ts', 'test/torture/live.test.ts'],
  ['test/events/history.test.ts', 'test/events/large.test.ts'],
  [
    'test/database/embedded-access.test.ts',
    'test/database/embedded-crash.test.ts',
    'test/database/embedded-takeover.test.ts',
  ],
];

/**
 * Files that are run last, one entry after the other: they measure how long one client waits while others attack, or they need
 * both processors to end in their time. Files of one entry run beside each other: together they use less than the two processors,
 * and the times that they ask for are seconds, or times of the processor.
 */
export const MEASURING: readonly (readonly string[])[] = [
  ['test/torture/functions.test.ts'],
  ['test/functions/sandbox/attacks.test.ts'],
  ['test/realtime/attacks/expensive-questions.test.ts', 'test/realtime/attacks/read-log-attack.test.ts'],
  ['test/collections/http/hostile.test.ts', 'test/torture/slow-readers.test.ts'],
];

/** What a file does that wants a process of its own: it watches its process, or ends it. */
const OF_ITS_OWN = /process\.(?:on\(|exit|memoryUsage|cpuUsage|getActive)|eventLoop/;
/** Files of one process: loading the program takes a second of the processor, which they pay once. */
const SHARED = 20;

export interface TestFiles {
  /** Files that may run beside each other, the longest first; each entry is a process, with one file or a few. */
  readonly together: readonly (readonly string[])[];
  /** Files to run after these, one entry at a time; files of one entry beside each other, each in a process of its own. */
  readonly last: readonly (readonly string[])[];
}

/**
 * The files to run.
 * @param root the folder of the project, absolute
 * @param asked files and folders, relative to the current folder; none for all tests
 * @throws Error when one of them does not exist or holds no test
 */
export function testFiles(root: string, asked: readonly string[]): TestFiles {
  const found = asked.length === 0 ? testsIn(join(root, 'test')) : asked.flatMap((path) => named(resolve(path)));
  const files = new Set(found.map((path) => relative(root, path)).sort());
  const take = (entries: readonly (readonly string[])[]) =>
    entries.map((entry) => entry.filter((file) => files.delete(file))).filter(({ length }) => length > 0);
  const last = take(MEASURING);
  const longest = take(LONGEST);
  return { together: [...longest, ...shared(root, [...files])], last };
}

/** Puts neighbours together that do not want a process of their own. */
function shared(root: string, files: readonly string[]): string[][] {
  const isOwn = (file: string) => OF_ITS_OWN.test(readFileSync(join(root, file), 'utf8'));
  const { own = [], other = [] } = Object.groupBy(files, (file) => (isOwn(file) ? 'own' : 'other'));
  const groups = own.map((file) => [file]);
  for (let first = 0; first < other.length; first += SHARED) groups.push(other.slice(first, first + SHARED));
  return groups;
}

/** What a process is called in the output: its file, or its folders with the names of their files. */
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
  return globSync(`**/*${ENDING}`, { cwd: folder }).map((path) => join(folder, path));
}
