/**
 * The packages of this repository that have a lockfile of their own, and the installation of what they need. Plain JavaScript
 * without dependencies, like install.mjs. Not here: how packages are installed (install.mjs), building the dashboard (dashboard.mjs).
 */
import { join, relative, resolve } from 'node:path';
import { ensureInstalled, ROOT } from './install.mjs';

/** Folder of each package whose tests import it, and what it is called while its packages are installed. */
const INTEGRATIONS = {
  'integrations/zapier': 'the Zapier app',
  'integrations/n8n': 'the n8n nodes',
};

/** The same of all packages. The tests of the dashboard see only what is built of it. */
const PACKAGES = { dashboard: 'the dashboard', ...INTEGRATIONS };

/** Installs what one of them needs, if that is missing. @param folder relative to the project, one of the above */
export async function ensurePackage(folder) {
  await ensureInstalled({ dev: true, root: join(ROOT, folder), of: PACKAGES[folder] });
}

/** The same for all of them at once, because most of an installation is waiting for downloads. */
export async function ensurePackages() {
  await Promise.all(Object.keys(PACKAGES).map(ensurePackage));
}

/** The same for the integrations whose tests are asked for. @param paths as below */
export async function ensurePackagesOfTests(paths) {
  await Promise.all(integrationsOf(paths).map(ensurePackage));
}

/**
 * The folders of the integrations whose tests are asked for. The tests of `integrations/x` lie in `test/integrations/x`.
 * @param paths files and folders, relative to the current folder; none for all tests
 */
export function integrationsOf(paths) {
  const isIn = (path, folder) => !/^\.\.(?:[/\\]|$)/.test(relative(folder, path));
  return Object.keys(INTEGRATIONS).filter((folder) => {
    const tests = join(ROOT, 'test', folder);
    return paths.length === 0 || paths.some((path) => isIn(resolve(path), tests) || isIn(tests, resolve(path)));
  });
}
