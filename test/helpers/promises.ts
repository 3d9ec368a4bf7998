/**
 * Reads the promises in SECURITY.md and the tests that its tables name for each, and checks that tests with these names
 * exist.
 */
import { existsSync, readFileSync } from 'node:fs';
import { literalPattern } from '../../src/kernel/literal-pattern.ts';

/** A row of a table: the promise and, after the bar, its tests. */
const ROW = /^\| (.+?) \| (.+) \|$/gm;
const NAMED = /^\[[\w-]+\]\((test\/[\w./-]+\.test\.ts)\): (.+)$/;
/** The title of a test or subtest, in each kind of quotes. */
const TITLE = /\.test\(\s*(?:'([^'\n]+)'|"([^"\n]+)"|`([^`\n]+)`)/g;

const urlOf = (path: string) => new URL(`../../${path}`, import.meta.url);

export interface Promises {
  readonly count: number;
  /** A sentence for each named test that does not exist. */
  readonly faults: readonly string[];
}

export function promises(): Promises {
  const rows = [...readFileSync(urlOf('SECURITY.md'), 'utf8').matchAll(ROW)];
  const promised = rows.filter(([, promise = '']) => !/^(promise|-+)$/.test(promise));
  const faults = promised.flatMap(([, promise = '', tests = '']) =>
    tests.split('<br>').flatMap((named) => {
      const [, path, title = ''] = NAMED.exec(named) ?? [];
      if (path === undefined) return [`SECURITY.md: '${promise}' is not followed by a test, but by '${named}'`];
      if (!existsSync(urlOf(path))) return [`SECURITY.md names ${path}, which does not exist: was it moved?`];
      if (titlesOf(path).some((known) => known.test(title))) return [];
      return [`SECURITY.md names the test '${title}', which ${path} does not hold: was it renamed?`];
    }),
  );
  return { count: promised.length, faults };
}

/** Patterns of the titles of a test file. A value inside a title matches any text. */
function titlesOf(path: string): RegExp[] {
  return [...readFileSync(urlOf(path), 'utf8').matchAll(TITLE)].map(([, single, double, template = '']) => {
    const literal = single ?? double;
    const parts = literal === undefined ? template.split(/\$\{[^}]*\}/) : [literal];
    return new RegExp(`^${parts.map(literalPattern).join('.+')}$`);
  });
}
