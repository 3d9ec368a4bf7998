/**
 * A process for a few test files, one after the other: the next is loaded when the tests of the one before have ended. `node
 * scripts/test-process.ts <file> …`; run-tests.ts begins it.
 */
import { once } from 'node:events';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const files = process.argv.slice(2);
// tap names its folders for tests by the words of the command, which can be too long for a folder's name.
process.argv.splice(1, process.argv.length, ...files.slice(0, 1));
const { default: t } = await import('tap');
for (const file of files) {
  await import(pathToFileURL(resolve(file)).href);
  if (!t.idle) await once(t, 'idle');
}
