/**
 * The runner as plain JavaScript, for a clone in jitless mode: Node strips types with WebAssembly, which requires the compiler.
 * The npm package contains plain JavaScript already.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Writes the runner's files without types to a folder from which its packages resolve.
 * @param sources the folder of the sandbox
 * @returns the folder of the copy, whose files end with `.mjs`
 */
export function stripRunnerTypes(sources: string): string {
  const packages = dirname(dirname(createRequire(import.meta.url).resolve('isolated-vm/package.json')));
  const copy = join(packages, '.cache', 'millrace-runner', String(process.pid));
  for (const path of globSync('{*,wire/*,runner/*,isolate/*}.ts', { cwd: sources })) {
    const text = stripTypeScriptTypes(readFileSync(join(sources, path), 'utf8'));
    const target = join(copy, path.replace(/ts$/, 'mjs'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text.replace(/(from '\.[^']*)\.ts'/g, "$1.mjs'"));
  }
  return copy;
}
