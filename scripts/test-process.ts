/**
 * A process for a few test files, one after the other: the next is loaded when the tests of the one before have ended. `node
 * scripts/test-process.ts <file> …`; run-tests.ts begins it.
 */
import { once } from 'node:events';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';

for (const file of process.argv.slice(2)) {
  await import(pathToFileURL(resolve(file)).href);
  if (!t.idle) await once(t, 'idle');
}
