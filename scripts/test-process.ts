/**
 * A process for one test file or a few, one after the other. Each file is a subtest: what it created at its top level
 * is torn down at its end, before the next file is loaded. `node scripts/test-process.ts <file> …`; run-tests.ts starts
 * it. A file may also be run by `node` alone, with plain tap.
 */
import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { processorSeconds } from './processor-time.ts';
import './stray-errors.ts';
import type { TAP, Test } from 'tap';

/**
 * What test files get for `tap`: the test of the current file. Files run one after the other, so there is one at a
 * time.
 */
const KEY = 'current-test';
const CURRENT = `data:text/javascript,export default process[Symbol.for('${KEY}')];`;
const files = process.argv.slice(2);
// tap derives the folders of tests from the words of the command, which can be too long for a folder's name.
process.argv.splice(1, process.argv.length, ...files.slice(0, 1));
const tap = import.meta.resolve('tap');
/** A file that has not ended by then fails, unless it sets another timeout. */
const LIMIT_MS = 1_000 * Number(process.env['TAP_TIMEOUT'] ?? 30);
let isLoading = true;
let current: Test | TAP | undefined;

registerHooks({
  // By its name, before Node resolves it: called for each of 2,000 modules, this must cost nothing. Without a load
  // hook, for which Node would read each module differently.
  resolve(specifier, context, next) {
    const isTap = !isLoading && (specifier === 'tap' || specifier === tap);
    return isTap ? { url: CURRENT, format: 'module', shortCircuit: true } : next(specifier, context);
  },
});

const { default: root } = await import('tap');
isLoading = false;
root.setTimeout(0);
const forwarded: ProxyHandler<TAP> = {
  get(_, name) {
    const value: unknown = Reflect.get(current ?? root, name);
    return typeof value === 'function' ? value.bind(current ?? root) : value;
  },
};
Object.assign(process, { [Symbol.for(KEY)]: new Proxy(root, forwarded) });

/** Resources that the files of this process share, such as a browser, are closed after the last of them. */
const endings: (() => Promise<void>)[] = [];
Object.assign(process, { [Symbol.for('end-of-test-process')]: endings });

let before = processorSeconds();
for (const file of files) {
  const settings = { ...process.env };
  await root.test(file, { timeout: LIMIT_MS }, async (t) => {
    current = t;
    await import(pathToFileURL(resolve(file)).href);
  });
  current = undefined;
  const now = processorSeconds();
  const seconds = now.own - before.own + now.ofChildren - before.ofChildren;
  root.comment(`processor ${seconds.toFixed(1)} s: ${file}`);
  before = now;
  for (const name of Object.keys(process.env)) if (!(name in settings)) delete process.env[name];
  Object.assign(process.env, settings);
}
await Promise.all(endings.map((end) => end()));
