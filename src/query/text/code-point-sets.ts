/**
 * Sets of code points, and how a set or a character is written in a pattern so that the server's engine (PCRE) and ours
 * read it identically. No flags and no shorthand classes: those are where the two engines differ.
 */
import { caseGroup, caseGroups } from './case-folding.ts';

/** First and last code point, both included. */
export type CodePointRange = readonly [number, number];

const LAST = 0x10ffff;

/** The sets of `\d`, `\w` and `\s`: ASCII, with the vertical tab among the spaces as on the server. */
export const CHARACTER_CLASS_SHORTHANDS: Readonly<Record<string, readonly CodePointRange[]>> = {
  d: [[0x30, 0x39]],
  w: [
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x5f, 0x5f],
    [0x61, 0x7a],
  ],
  s: [
    [0x09, 0x0d],
    [0x20, 0x20],
  ],
};

/** Sorted, without overlaps. */
function mergeRanges(ranges: readonly CodePointRange[]): CodePointRange[] {
  const merged: [number, number][] = [];
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

/** All code points that are not in the set. */
export function complementRanges(ranges: readonly CodePointRange[]): CodePointRange[] {
  const outside: CodePointRange[] = [];
  let next = 0;
  for (const [from, to] of mergeRanges(ranges)) {
    if (from > next) outside.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= LAST) outside.push([next, LAST]);
  return outside;
}

/** The set and everything that differs from its members by case alone. */
export function withBothCases(ranges: readonly CodePointRange[]): CodePointRange[] {
  const sorted = mergeRanges(ranges);
  const has = (code: number): boolean => sorted.some(([from, to]) => from <= code && code <= to);
  const more = [...caseGroups()].filter((group) => group.some(has)).flat();
  return mergeRanges([...sorted, ...more.map((code): CodePointRange => [code, code])]);
}

/** A set as a class of a pattern. */
export function formatCharacterSet(ranges: readonly CodePointRange[], negated = false): string {
  const parts = mergeRanges(ranges).map(([from, to]) => writeCode(from) + (to > from ? `-${writeCode(to)}` : ''));
  return `[${negated ? '^' : ''}${parts.join('')}]`;
}

/** A text as a pattern that matches it and nothing else, or it in any letter case. */
export function textAsPattern(text: string, fold: boolean): string {
  return Array.from(text, (character) => characterAsPattern(character, fold)).join('');
}

export function characterAsPattern(character: string, fold: boolean): string {
  const code = character.codePointAt(0) ?? 0;
  const group = fold ? caseGroup(code) : [code];
  return group.length === 1 ? writeCode(code) : formatCharacterSet(group.map((field) => [field, field]));
}

/**
 * Letters and digits as they are, the rest of ASCII by number (a pattern cannot hold NUL), everything else as it is.
 */
function writeCode(code: number): string {
  const character = String.fromCodePoint(code);
  if (/^[0-9A-Za-z]$/.test(character)) return character;
  if (code > 0x20 && code < 0x7f) return `\\${character}`;
  return code < 0xa0 || code > 0xffff || (code >= 0xd800 && code < 0xe000) ? `\\x{${code.toString(16)}}` : character;
}
