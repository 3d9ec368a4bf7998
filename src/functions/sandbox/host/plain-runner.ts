/**
 * The runner as plain JavaScript, for a clone in jitless mode: Node strips types by WebAssembly, which is not there without the compiler.
 * The package has plain JavaScript anyway. Not here: starting it (runner-link.ts).
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Writes what the runner consists of without types, where it finds its packages.
 * @param sources the folder of the sandbox
 * @returns the folder of the copy, whose files end with `.mjs`
 */
export function plainRunner(sources: string): string {
  const packages = dirname(dirname(createRequire(import.meta.url).resolve('isolated-vm/package.json')));
  const copy = join(packages, '.cache', 'millrace-runner', String(process.pid));
  for (const path of globSync('{*,wire/*,runner/**/*}.ts', { cwd: sources })) {
    const text = stripTypeScriptTypes(readFileSync(join(sources, path), 'utf8'));
    const target = join(copy, path.replace(/ts$/, 'mjs'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text.replace(/(from '\.[^']*)\.ts'/g, "$1.mjs'"));
  }
  return copy;
}
