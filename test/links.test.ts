/** Links in the documentation have a target: a file of the repository, and a heading of its page. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LINK = /\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?(?: "[^"]*"| '[^']*')?\)/g;

/** A page without its code, in which `](` and `#` have other meanings. */
function proseOf(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8')
    .replace(/^ *```[\s\S]*?^ *```/gm, '')
    .replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()#]/g, ''));
}

/** The anchors of a page, derived from its headings as GitHub does. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => text);
  return new Set(
    headings.map((text) =>
      text
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

t.test('every link of a page leads to a file and a heading', async (t) => {
  const pages = globSync(['*.md', 'docs/**/*.md', 'bench/*.md', 'test/*.md'], { cwd: ROOT });
  const issues: string[] = [];
  let links = 0;
  for (const page of pages) {
    for (const [, path = '', anchor] of proseOf(page).matchAll(LINK)) {
      links += 1;
      const target = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(ROOT, target))) issues.push(`${page}: there is no ${target}`);
      else if (anchor !== undefined && !anchorsOf(target).has(anchor))
        issues.push(`${page}: ${target} has no #${anchor}`);
    }
  }
  t.ok(links > 100, `${links} links`);
  t.same(issues, []);
});

t.test('the index of the decisions links to each of them', async (t) => {
  const index = readFileSync(join(ROOT, 'docs/decisions/README.md'), 'utf8');
  const decisions = globSync('[0-9]*.md', { cwd: join(ROOT, 'docs/decisions') });
  t.ok(decisions.length > 20, `${decisions.length} decisions`);
  t.same(
    decisions.filter((decision) => !index.includes(`](${decision}) |`)),
    [],
    'each has a line in docs/decisions/README.md',
  );
});
