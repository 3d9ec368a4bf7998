/**
 * `npm run check`: checks types, lint and format, and that generated pages are up to date, also on a fresh clone. All
 * checks run even if one fails, so that one run shows everything.
 */
import { availableParallelism } from 'node:os';
import { ensureInstalled, main, runScript } from './install.mjs';
import { ensurePackages } from './packages.mjs';

/**
 * Both projects are checked concurrently, each with half of the processors. By default TypeScript divides a project
 * among four threads, and each checks again what the files of several have in common: on two processors that takes 15 s
 * of them instead of 9.
 */
const TSC = ['node_modules/typescript/bin/tsc', '--checkers', String(Math.max(1, availableParallelism() >> 1))];

/**
 * These need the packages of the project only, so they run while those of the dashboard and the integrations are
 * installed.
 */
const CHECKS = {
  'lint and format': ['node_modules/@biomejs/biome/bin/biome', 'check', '.'],
  'generated pages': ['scripts/generate.ts', '--check'],
};

/** The tests import integrations, so their types need the packages of those. */
const CHECKS_WITH_PACKAGES = {
  types: TSC,
  'types of the dashboard': [...TSC, '--project', 'dashboard'],
};

await main(async () => {
  await ensureInstalled({ dev: true });
  const failed = [];
  const run = async (checks) => {
    const one = async ([name, words]) => {
      if ((await runScript(...words)) !== 0) failed.push(name);
    };
    await Promise.all(Object.entries(checks).map(one));
  };
  await Promise.all([ensurePackages(), run(CHECKS)]);
  await run(CHECKS_WITH_PACKAGES);
  if (failed.length > 0) throw new Error(`Not in order: ${failed.join(', ')}.`);
  console.log('Types, lint, format and generated pages are in order.');
  return 0;
});
