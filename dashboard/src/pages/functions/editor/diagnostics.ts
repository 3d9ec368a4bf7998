/** Errors that the server found in a plugin, with file, line and column. */
import { jsonLanguage } from '@codemirror/lang-json';
import { MillraceError } from '../../../../../client/client.ts';
import type { CodeError } from '../../../parts/code/code-mirror.tsx';
import { type Draft, MANIFEST } from './plugin-draft.ts';

export interface PlacedIssue extends CodeError {
  readonly file: string;
}

/** The errors of a rejected plugin, each at its position in the editor. */
export function issuesOf(error: unknown, draft: Draft): readonly PlacedIssue[] {
  if (error instanceof SyntaxError) return [{ file: MANIFEST, line: 1, column: 1, message: error.message }];
  if (!(error instanceof MillraceError)) return [];
  return (error.problem.errors ?? []).flatMap((issue): PlacedIssue[] => {
    const { pointer, detail: message } = issue;
    if (pointer.startsWith('/manifest')) {
      return [{ file: MANIFEST, ...positionOf(draft.manifest, pointer.slice('/manifest'.length)), message }];
    }
    const [file, line, column]: unknown[] = ['file', 'line', 'column'].map((name) => Reflect.get(issue, name));
    if (typeof file !== 'string') return [];
    return [{ file, line: Number(line ?? 1), column: Number(column ?? 1), message }];
  });
}

const VALUES = new Set(['Object', 'Array', 'String', 'Number', 'True', 'False', 'Null']);

/** Line and column of the value at a pointer (RFC 6901), or of the nearest one around it. */
function positionOf(text: string, pointer: string): { readonly line: number; readonly column: number } {
  let node = jsonLanguage.parser.parse(text).topNode.firstChild;
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    const children = node?.getChildren('Property') ?? [];
    let next = children.find(({ firstChild }) => {
      return firstChild !== null && text.slice(firstChild.from, firstChild.to) === JSON.stringify(name);
    })?.lastChild;
    if (node?.name === 'Array') {
      let child = node.firstChild;
      let index = -1;
      while (child !== null) {
        if (VALUES.has(child.name)) index += 1;
        if (index === Number(name)) break;
        child = child.nextSibling;
      }
      next = child ?? undefined;
    }
    if (next === undefined || next === null) break;
    node = next;
  }
  const lines = text.slice(0, node?.from ?? 0).split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
