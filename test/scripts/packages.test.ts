/** Which integrations a run of tests installs: those whose tests are asked for. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The answer for paths of the project. The script has no types, like all that run before packages are there. */
async function installedFor(...paths: string[]): Promise<readonly string[]> {
  const { integrationsOf } = await import(join(ROOT, 'scripts/packages.mjs'));
  return integrationsOf(paths.map((path) => join(ROOT, path)));
}

t.test('a run of all tests installs all integrations, a run of others none', async (t) => {
  const all = await installedFor();
  t.ok(all.includes('integrations/zapier'));
  for (const above of ['.', 'test', 'test/integrations']) t.strictSame(await installedFor(above), all, above);
  t.strictSame(await installedFor('test/files', 'test/tidy.test.ts'), []);
});

t.test('the tests of one integration install this one', async (t) => {
  const one = ['integrations/zapier'];
  t.strictSame(await installedFor('test/integrations/zapier'), one);
  t.strictSame(await installedFor('test/files', 'test/integrations/zapier/hooks.test.ts'), one);
  t.strictSame(await installedFor('test/integrations/zapier-two'), []);
});
