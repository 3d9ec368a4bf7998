/** Where things are in a text of JSON, also in one that is not finished: for faults of the server, and for completion. */
import type { CodeFault } from '../../../parts/code/code-mirror.tsx';

interface Level {
  readonly isObject: boolean;
  key: string;
  index: number;
}

/** A text in quotes that has no end yet. */
export interface OpenText {
  /** Names and indexes from the outside; of the object itself where the name of a member is written. */
  readonly path: readonly string[];
  readonly isName: boolean;
  /** Where the text begins, after its quote. */
  readonly from: number;
}

/**
 * Reads JSON from its beginning.
 * @param visit called at each value with its path and its place
 * @returns the text in quotes that the end of `text` is in; null if it is in none
 */
export function scanJson(text: string, visit: (path: readonly string[], at: number) => void): OpenText | null {
  const levels: Level[] = [];
  let isName = false;
  const path = () => levels.map(({ isObject, key, index }) => (isObject ? key : String(index)));
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] ?? '';
    const level = levels.at(-1);
    if (letter === '"') {
      const end = endOfText(text, at);
      if (end === null) return { path: isName ? path().slice(0, -1) : path(), isName, from: at + 1 };
      if (isName && level !== undefined) level.key = text.slice(at + 1, end);
      else visit(path(), at);
      isName = false;
      at = end;
    } else if (letter === '{' || letter === '[') {
      visit(path(), at);
      levels.push({ isObject: letter === '{', key: '', index: 0 });
      isName = letter === '{';
    } else if (letter === '}' || letter === ']') {
      levels.pop();
      isName = false;
    } else if (letter === ',' && level !== undefined) {
      level.index += 1;
      isName = level.isObject;
    } else if (/[-\w]/.test(letter)) {
      visit(path(), at);
      while (/[-+.\w]/.test(text[at + 1] ?? '')) at += 1;
    }
  }
  return null;
}

/** The place of its closing quote; null if there is none. */
function endOfText(text: string, begin: number): number | null {
  for (let at = begin + 1; at < text.length; at++) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at;
    else if (text[at] === '\n') return null;
  }
  return null;
}

/** A fault as the server names it, by a JSON Pointer (RFC 6901). */
export interface PointedFault {
  readonly pointer: string;
  readonly detail: string;
}

/**
 * The faults at their places in the text; at the nearest value around them if they name what is not there.
 * @param below only those below this pointer, which the text is the value of
 */
export function placeFaults(text: string, faults: readonly PointedFault[], below = ''): readonly CodeFault[] {
  const places: { readonly path: string; readonly at: number }[] = [];
  scanJson(text, (path, at) => places.push({ path: path.map((name) => `/${escaped(name)}`).join(''), at }));
  return faults
    .filter(({ pointer }) => pointer === below || pointer.startsWith(`${below}/`))
    .map(({ pointer, detail }) => {
      const rest = pointer.slice(below.length);
      const around = places.filter(({ path }) => path === rest || rest.startsWith(`${path}/`));
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
