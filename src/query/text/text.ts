/**
 * Text tests (`contains`, `startsWith`, `endsWith`, `like`): the pattern the database is asked with, and the same
 * question asked of a string in hand. Case is folded by case-folding.ts on both sides.
 */

import type { Test } from '../filter.ts';
import { foldCase } from './case-folding.ts';
import { writeText } from './code-points.ts';

export type TextTest = Extract<Test, { op: 'text' }>;

/** The test as a pattern of the server's engine, to be searched for in a string. */
export function textPattern({ how, fold, text }: TextTest): string {
  const literal = writeText(text, fold);
  switch (how) {
    case 'contains':
      return literal;
    case 'startsWith':
      return `^${literal}`;
    case 'endsWith':
      return `${literal}\\z`;
    case 'like':
      return likePattern(text, fold);
    default:
      return how satisfies never;
  }
}

/** Each part is looked for once, as early as it comes: the atomic groups keep the engine from trying all the others. */
function likePattern(text: string, fold: boolean): string {
  const [first = '', ...rest] = text.split('*').map((part) => writeText(part, fold));
  const last = rest.pop();
  if (last === undefined) return `^${first}\\z`;
  const between = rest.filter((part) => part !== '').map((part) => `(?>(?s:.*?)${part})`);
  return `^${first}${between.join('')}${last === '' ? '' : `(?s:.*)${last}\\z`}`;
}

/** The test as a function of a string in hand. */
export function textMatcher({ how, fold, text }: TextTest): (value: string) => boolean {
  const wanted = fold ? foldCase(text) : text;
  const seen = fold ? foldCase : (value: string) => value;
  switch (how) {
    case 'contains':
      return (value) => seen(value).includes(wanted);
    case 'startsWith':
      return (value) => seen(value).startsWith(wanted);
    case 'endsWith':
      return (value) => seen(value).endsWith(wanted);
    case 'like': {
      const parts = wanted.split('*');
      return (value) => isLike(seen(value), parts);
    }
    default:
      return how satisfies never;
  }
}

function isLike(value: string, parts: readonly string[]): boolean {
  const [first = ''] = parts;
  if (parts.length === 1) return value === first;
  const last = parts.at(-1) ?? '';
  if (!value.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = value.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return value.length - last.length >= at && value.endsWith(last);
}
