/** Positions in a JSON text, also in an unfinished one: for errors of the server, and for completion. */
import type { CodeError } from '../../../parts/code/code-mirror.tsx';

interface Level {
  readonly isObject: boolean;
  key: string;
  index: number;
}

/** A text in quotes that has no end yet. */
export interface OpenText {
  /** Names and indexes from the outside; of the object itself inside a field name. */
  readonly path: readonly string[];
  readonly isName: boolean;
  /** Start of the text, after its quote. */
  readonly from: number;
}

/**
 * Parses JSON from its start.
 * @param visit called at each value with its path and its position
 * @returns the text in quotes that contains the end of `text`; null if there is none
 */
export function scanJson(text: string, visit: (path: readonly string[], at: number) => void): OpenText | null {
  const levels: Level[] = [];
  let isName = false;
  const path = () => levels.map(({ isObject, key, index }) => (isObject ? key : String(index)));
  for (let at = 0; at < text.length; at++) {
    const email = text[at] ?? '';
    const level = levels.at(-1);
    if (email === '"') {
      const end = endOfText(text, at);
      if (end === null) return { path: isName ? path().slice(0, -1) : path(), isName, from: at + 1 };
      if (isName && level !== undefined) level.key = text.slice(at + 1, end);
      else visit(path(), at);
      isName = false;
      at = end;
    } else if (email === '{' || email === '[') {
      visit(path(), at);
      levels.push({ isObject: email === '{', key: '', index: 0 });
      isName = email === '{';
    } else if (email === '}' || email === ']') {
      levels.pop();
      isName = false;
    } else if (email === ',' && level !== undefined) {
      level.index += 1;
      isName = level.isObject;
    } else if (/[-\w]/.test(email)) {
      visit(path(), at);
      while (/[-+.\w]/.test(text[at + 1] ?? '')) at += 1;
    }
  }
  return null;
}

/** The position of its closing quote; null if there is none. */
function endOfText(text: string, begin: number): number | null {
  for (let at = begin + 1; at < text.length; at++) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at;
    else if (text[at] === '\n') return null;
  }
  return null;
}

/** An error as the server reports it, by a JSON Pointer (RFC 6901). */
export interface PointedIssue {
  readonly pointer: string;
  readonly detail: string;
}

/**
 * The errors at their positions in the text; at the nearest enclosing value for missing ones.
 * @param below only those below this pointer, of which the text is the value
 */
export function locateIssues(text: string, issues: readonly PointedIssue[], below = ''): readonly CodeError[] {
  const resources: { readonly path: string; readonly at: number }[] = [];
  scanJson(text, (path, at) => resources.push({ path: path.map((name) => `/${escaped(name)}`).join(''), at }));
  return issues
    .filter(({ pointer }) => pointer === below || pointer.startsWith(`${below}/`))
    .map(({ pointer, detail }) => {
      const rest = pointer.slice(below.length);
      const around = resources.filter(({ path }) => path === rest || rest.startsWith(`${path}/`));
      const at = around.reduce((best, one) => (one.path.length >= best.path.length ? one : best), {
        path: '',
        at: 0,
      }).at;
      const lines = text.slice(0, at).split('\n');
      return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1, message: detail };
    });
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
