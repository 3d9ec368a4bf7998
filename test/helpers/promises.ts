/** Reads the promises of docs/security.md with their links to tests, and checks that tests with these titles exist. */
import { existsSync, readFileSync } from 'node:fs';
import { escapeRegExp } from '../../src/lib/escape-reg-exp.ts';

const PAGE = 'docs/security.md';
/** A table of promises, without its head. */
const TABLE = /^\| promise \| tests \|\n\| --- \| --- \|\n((?:\|.*\n)+)/gm;
const ROW = /^\| (.+?) \| (.+) \|$/gm;
/** A link to a test: its file, and its title as the title of the link. */
const LINK = /\[[\w-]+\]\(\.\.\/([\w./-]+) (?:"([^"]+)"|'([^']+)')\)/g;
/** The title of a test or subtest, in each kind of quotes. */
const TITLE = /\.test\(\s*(?:'([^'\n]+)'|"([^"\n]+)"|`([^`\n]+)`)/g;

const urlOf = (path: string) => new URL(`../../${path}`, import.meta.url);

export interface Promises {
  readonly count: number;
  /** A sentence for each linked test that does not exist. */
  readonly issues: readonly string[];
}

export function promises(): Promises {
  const tables = [...readFileSync(urlOf(PAGE), 'utf8').matchAll(TABLE)];
  const rows = tables.flatMap(([, table = '']) => [...table.matchAll(ROW)]);
  const issues = rows.flatMap(([, promise = '', tests = '']) => {
    const rest = tests.replace(LINK, '');
    if (/[^ ,]/.test(rest) || rest === tests) return [`${PAGE}: '${promise}' needs links to tests only: '${rest}'`];
    return [...tests.matchAll(LINK)].flatMap(([, path = '', double, single = '']) => {
      const title = double ?? single;
      if (!existsSync(urlOf(path))) return [`${PAGE} links to ${path}, which does not exist: was it moved?`];
      if (titlesOf(path).some((known) => known.test(title))) return [];
      return [`${PAGE} names the test '${title}', which ${path} does not have: was it renamed?`];
    });
  });
  return { count: rows.length, issues };
}

/** Patterns of the titles of a test file. A value inside a title matches any text. */
function titlesOf(path: string): RegExp[] {
  return [...readFileSync(urlOf(path), 'utf8').matchAll(TITLE)].map(([, single, double, template = '']) => {
    const literal = single ?? double;
    const parts = literal === undefined ? template.split(/\$\{[^}]*\}/) : [literal];
    return new RegExp(`^${parts.map(escapeRegExp).join('.+')}$`);
  });
}
