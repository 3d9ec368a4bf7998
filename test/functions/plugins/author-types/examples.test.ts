/** The examples compile with the generated typings, before any collection exists. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { readPlugin } from '../../../../src/functions/plugins/folders/read-plugin.ts';
import { generateTypings } from '../../../../src/functions/plugins/typings/typings.ts';
import { compileForAuthors } from '../../../helpers/functions/author-program.ts';

const FOLDER = fileURLToPath(new URL('../../../../plugins/examples', import.meta.url));
const NAMES = readdirSync(FOLDER, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));

t.test('The four examples are valid and compile.', async (t) => {
  t.strictSame(NAMES.sort(), ['invoice', 'nightly-report', 'slug', 'welcome-email']);
  const scripts: Record<string, string> = {};
  for (const name of NAMES) {
    const { diagnostics: issues, files } = await readPlugin(join(FOLDER, name), name);
    t.strictSame(issues, [], name);
    for (const [path, text] of files) scripts[`${name}/${path}`] = text;
    const readme = readFileSync(join(FOLDER, name, 'README.md'), 'utf8');
    t.match(readme, `test/functions/examples/${name}.test.ts`, 'the page names its test');
  }
  t.strictSame(await compileForAuthors(t, generateTypings([]), scripts), []);
});
