/** SECURITY.md promises nothing without a test: each row of its tables names one or more, and they exist under those names. */
import { readFileSync } from 'node:fs';
import t from 'tap';

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

/** A row of a table: what is promised, and after the bar the tests. */
const ROW = /^\| (.+?) \| (.+) \|$/gm;
const NAMED = /^\[[\w-]+\]\((test\/[\w./-]+\.test\.ts)\): (.+)$/;
/** The title of a test or subtest, in each kind of quotes. */
const TITLE = /\.test\(\s*(?:'([^'\n]+)'|"([^"\n]+)"|`([^`\n]+)`)/g;

/** What the titles of a test file match; where a title is made of values, they stand for any text. */
function titlesOf(path: string): RegExp[] {
  const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return [...read(path).matchAll(TITLE)].map(([, single, double, template = '']) => {
    const literal = single ?? double;
    const parts = literal === undefined ? template.split(/\$\{[^}]*\}/) : [literal];
    return new RegExp(`^${parts.map(escaped).join('.+')}$`);
  });
}

t.test('every promise of SECURITY.md has a test', async (t) => {
  const rows = [...read('SECURITY.md').matchAll(ROW)].filter(([, promise = '']) => !/^(promise|-+)$/.test(promise));
  t.ok(rows.length > 50, `${rows.length} promises`);
  for (const [, promise = '', tests = ''] of rows) {
    for (const test of tests.split('<br>')) {
      const [, path, title = ''] = NAMED.exec(test) ?? [];
      if (path === undefined) t.fail(`${promise}: '${test}' names no test`);
      else
        t.ok(
          titlesOf(path).some((known) => known.test(title)),
          `${path} holds '${title}'`,
        );
    }
  }
});
