/** The examples compile for their author: with the generated types, before any collection is there. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { authorTypes } from '../../../../src/functions/plugins/author-types/author-types.ts';
import { readPlugin } from '../../../../src/functions/plugins/folders/read-plugin.ts';
import { compileForAuthors } from '../../../helpers/functions/author-program.ts';

const FOLDER = fileURLToPath(new URL('../../../../plugins/examples', import.meta.url));
const NAMES = readdirSync(FOLDER, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));

t.test('the four examples are valid and compile', async (t) => {
  t.strictSame(NAMES.sort(), ['invoice', 'nightly-report', 'slug', 'welcome-email']);
  const scripts: Record<string, string> = {};
  for (const name of NAMES) {
    const { faults, files } = await readPlugin(join(FOLDER, name), name);
    t.strictSame(faults, [], name);
    for (const [path, text] of files) scripts[`${name}/${path}`] = text;
    const readme = readFileSync(join(FOLDER, name, 'README.md'), 'utf8');
    t.match(readme, `test/functions/examples/${name}.test.ts`, 'the page names its test');
  }
  t.strictSame(await compileForAuthors(t, authorTypes([]), scripts), []);
});
