/**
 * Text tests (`contains`, `startsWith`, `endsWith`, `like`): the pattern for the database, and the same test of a
 * string in memory. Letter case is folded by case-folding.ts on both sides.
 */
import { resumableProgress, yieldIfDue } from '../../lib/concurrency/cooperative-yield.ts';
import type { FieldTest } from '../filter.ts';
import { foldCaseCached } from './case-fold-cache.ts';
import { foldCase } from './case-folding.ts';
import { textAsPattern } from './code-point-sets.ts';
import { rewritePattern } from './pattern.ts';

export type TextFieldTest = Extract<FieldTest, { op: 'text' }>;

/** A search as a pattern of the server's engine. */
export function toServerPattern(test: Extract<FieldTest, { op: 'text' | 'regex' }>): string {
  return test.op === 'text' ? textPattern(test) : rewritePattern(test.pattern);
}

/** The test as a pattern of the server's engine, to be searched for in a string. */
export function textPattern({ how, fold, text }: TextFieldTest): string {
  const literal = textAsPattern(text, fold);
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

/**
 * Each part is searched for once, at its earliest position: atomic groups keep the engine from trying all other
 * positions.
 */
function likePattern(text: string, fold: boolean): string {
  const [first = '', ...rest] = text.split('*').map((part) => textAsPattern(part, fold));
  const last = rest.pop();
  if (last === undefined) return `^${first}\\z`;
  const between = rest.filter((part) => part !== '').map((part) => `(?>(?s:.*?)${part})`);
  return `^${first}${between.join('')}${last === '' ? '' : `(?s:.*)${last}\\z`}`;
}

/** The test as a function of a string in memory. */
export function textMatcher({ how, fold, text }: TextFieldTest): (value: string) => boolean {
  const requested = fold ? foldCase(text) : text;
  const seen = fold ? foldCaseCached : (value: string) => value;
  switch (how) {
    case 'contains': {
      const parts = ['', requested, ''];
      return (value) => isLike(seen(value), parts);
    }
    case 'startsWith':
      return (value) => seen(value).startsWith(requested);
    case 'endsWith':
      return (value) => seen(value).endsWith(requested);
    case 'like': {
      const parts = requested.split('*');
      return (value) => isLike(seen(value), parts);
    }
    default:
      return how satisfies never;
  }
}

/** UTF-16 units that are searched without a pause. The engine's own search takes up to 150 ns for one of them. */
const WINDOW = 16 * 1024;

function isLike(value: string, parts: readonly string[]): boolean {
  const [first = ''] = parts;
  if (parts.length === 1) return value === first;
  const last = parts.at(-1) ?? '';
  if (!value.startsWith(first)) return false;
  const done = value.length > WINDOW ? resumableProgress(parts, value, () => begin(first)) : begin(first);
  for (; done.part < parts.length - 1; done.part++) {
    const part = parts[done.part] ?? '';
    const found = search(value, part, done);
    if (found < 0) return false;
    done.at = found + part.length;
  }
  return value.length - last.length >= done.at && value.endsWith(last);
}

/** Which part is searched for, and from where. */
interface Search {
  part: number;
  at: number;
}

const begin = (first: string): Search => ({ part: 1, at: first.length });

/** The first position of the part, or -1. */
function search(value: string, part: string, done: Search): number {
  while (value.length - done.at > WINDOW + part.length) {
    const found = value.slice(done.at, done.at + WINDOW + part.length).indexOf(part);
    if (found >= 0) return done.at + found;
    done.at += WINDOW;
    yieldIfDue();
  }
  return value.indexOf(part, done.at);
}
