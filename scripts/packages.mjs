/**
 * The packages of this repository that have their own lockfile, and the installation of their dependencies. Plain
 * JavaScript without dependencies, like install.mjs.
 */
import { join, relative, resolve } from 'node:path';
import { ensureInstalled, ROOT } from './install.mjs';

/** Folder of each package whose sources tests import, and what it is called while its packages are installed. */
const IMPORTED = {
  'integrations/zapier': 'the Zapier app',
  'integrations/n8n': 'the n8n nodes',
};

/** The same of all whose types are checked. The tests of the dashboard see only what is built of it. */
const CHECKED = { dashboard: 'the dashboard', ...IMPORTED };

/** The same of all that tests need. */
const INTEGRATIONS = { ...IMPORTED, 'integrations/openapi-clients': 'the generated clients' };

/** Installs the dependencies of one package, if missing. @param folder relative to the project, one of the above */
export async function ensurePackage(folder) {
  await ensureInstalled({ dev: true, root: join(ROOT, folder), of: { ...CHECKED, ...INTEGRATIONS }[folder] });
}

/** The same for all whose types are checked at once, because most of an installation is waiting for downloads. */
export async function ensurePackages() {
  await Promise.all(Object.keys(CHECKED).map(ensurePackage));
}

/** The same for the integrations whose tests are to run. @param paths as below */
export async function ensurePackagesOfTests(paths) {
  await Promise.all(integrationsOf(paths).map(ensurePackage));
}

/**
 * The folders of the integrations whose tests are to run. The tests of `integrations/x` are in `test/integrations/x`.
 * @param paths files and folders, relative to the current folder; none for all tests
 */
export function integrationsOf(paths) {
  const isIn = (path, folder) => !/^\.\.(?:[/\\]|$)/.test(relative(folder, path));
  return Object.keys(INTEGRATIONS).filter((folder) => {
    const tests = join(ROOT, 'test', folder);
    return paths.length === 0 || paths.some((path) => isIn(resolve(path), tests) || isIn(tests, resolve(path)));
  });
}
