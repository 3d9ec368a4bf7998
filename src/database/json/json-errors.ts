/**
 * The slow part of strict decoding: reads a JSON text token by token and finds the first field name or value that
 * cannot be stored unchanged. It expects a text that JSON.parse has accepted, uses no recursion, and builds no value.
 */
import type { Issue } from '../../lib/errors.ts';
import { FORBIDDEN_FIELD_NAMES } from '../../lib/server-fields.ts';

/** A path in a JSON text: field names and array indexes from the outside in. */
export type JsonPath = readonly (string | number)[];

/** JSON Pointer (RFC 6901) of a path; empty for the whole text. */
export function jsonPointer(path: JsonPath): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

const NUMBER = /-?[0-9][0-9.eE+-]*/y;

/** The first error in a valid JSON text: a name or value that cannot be stored unchanged; null without one. */
export function findJsonIssue(text: string): Issue | null {
  return firstIssue(text, stringIssue);
}

/** The first number in a valid JSON text that JavaScript cannot represent exactly, or null. */
export function findInexactNumber(text: string): Issue | null {
  return firstIssue(text, () => null);
}

/** @param ofString returns what is wrong with a string at a path */
function firstIssue(
  text: string,
  ofString: (path: JsonPath, string: string, isKey: boolean) => Issue | null,
): Issue | null {
  const path: (string | number)[] = [];
  let atKey = false;
  let at = 0;
  while (at < text.length) {
    const char = text[at];
    if (char === '"') {
      const end = endOfString(text, at);
      const content = text.slice(at, end);
      const string = content.includes('\\') ? String(JSON.parse(content)) : content.slice(1, -1);
      if (atKey) path[path.length - 1] = string;
      const issue = ofString(path, string, atKey);
      if (issue) return issue;
      at = end;
      continue;
    }
    if (char === '-' || (char !== undefined && char >= '0' && char <= '9')) {
      NUMBER.lastIndex = at;
      const literal = NUMBER.exec(text)?.[0] ?? char;
      const issue = valueIssue(path, numberProblem(literal));
      if (issue) return issue;
      at += literal.length;
      continue;
    }
    if (char === '{' || char === '[') path.push(char === '{' ? '' : 0);
    if (char === '}' || char === ']') path.pop();
    const last = path.at(-1);
    if (char === ',' && typeof last === 'number') path[path.length - 1] = last + 1;
    if (char === '{' || char === ',') atKey = typeof last === 'string';
    if (char === '[' || char === ':' || char === '}' || char === ']') atKey = false;
    at++;
  }
  return null;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function stringIssue(path: JsonPath, string: string, isKey: boolean): Issue | null {
  return isKey ? keyIssue(path, string) : valueIssue(path, stringProblem(string));
}

function keyIssue(path: JsonPath, key: string): Issue | null {
  const detail = fieldNameProblem(path, key);
  // The pointer must be well-formed Unicode, even if the name is not.
  return detail === null ? null : { pointer: jsonPointer(path).toWellFormed(), code: 'unsupported-field-name', detail };
}

function valueIssue(path: JsonPath, detail: string | null): Issue | null {
  return detail === null ? null : { pointer: jsonPointer(path), code: 'unsupported-value', detail };
}

/** Why a field at this path cannot have this name, or null. */
export function fieldNameProblem(path: JsonPath, key: string): string | null {
  if (FORBIDDEN_FIELD_NAMES.includes(key)) return `The key "${key}" is not allowed`;
  if (key === 'prototype' && path.at(-2) === 'constructor') return 'The key "constructor" must not contain "prototype"';
  if (key.includes('\0')) return 'A key must not contain NUL';
  return key.isWellFormed() ? null : 'A key contains a lone surrogate';
}

function stringProblem(string: string): string | null {
  return string.isWellFormed() ? null : 'The string contains a lone surrogate';
}

/** A literal with a fraction or an exponent is a double; one without is an integer and must be exact. */
export function numberProblem(literal: string): string | null {
  if (!Number.isFinite(Number(literal))) return 'The number is too large for a double';
  if (/[.eE]/.test(literal)) return null;
  const integer = BigInt(literal);
  return integer <= 2n ** 53n && integer >= -(2n ** 53n) ? null : 'The integer is beyond ±2^53 and would lose digits';
}
