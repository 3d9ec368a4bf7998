/** The walks in docs/internals: each row names a file and a function of it that exist, and no file twice. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGES = join(ROOT, 'docs/internals');
/** The walks, and the most files of each. */
const WALKS: Readonly<Record<string, number>> = {
  'list.md': 12,
  'patch.md': 14,
  'webhook.md': 14,
  'function-call.md': 12,
};

/** A row of a walk: `| step | `path.ts` | `functionName` | … |`. */
const ROW = /^\|[^|]+\|\s*`([^`|]+\.ts)`\s*\|\s*`([A-Za-z0-9]+)`\s*\|/gm;

function defines(text: string, name: string): boolean {
  const asFunction = new RegExp(`\\bfunction\\*?\\s+${name}\\s*[<(]`);
  const asMethod = new RegExp(`^ +(?:static |async |override )*\\*?#?${name}\\s*[<(]`, 'm');
  const asConstant = new RegExp(`\\bconst ${name}\\b`);
  return [asFunction, asMethod, asConstant].some((pattern) => pattern.test(text));
}

t.test('the walks of docs/internals name functions that exist', async (t) => {
  const architecture = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
  for (const page of readdirSync(PAGES).filter((name) => name.endsWith('.md'))) {
    const rows = [...readFileSync(join(PAGES, page), 'utf8').matchAll(ROW)];
    for (const [, file = '', name = ''] of rows) {
      const text = readFileSync(join(ROOT, 'src', file), { encoding: 'utf8', flag: 'r' });
      t.ok(defines(text, name), `${page}: ${file} has ${name}`);
    }
    const files = rows.map(([, file]) => file);
    const most = WALKS[page];
    if (most === undefined) continue;
    t.ok(files.length > 0, `${page} has a walk`);
    t.equal(new Set(files).size, files.length, `${page} enters no file twice`);
    t.match(architecture, `internals/${page}`, 'the page is linked');
    t.ok(files.length <= most, `${page} enters ${files.length} files, at most ${most}`);
  }
});
