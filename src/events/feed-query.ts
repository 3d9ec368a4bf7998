/**
 * What the feeds read from a URL: where to begin, how long to wait, how much, which types. Pure; whatever is not known
 * is refused by name, because a parameter that is ignored answers another question than the one asked.
 */
import { MillraceError } from '../kernel/errors.ts';

const MAX_LIMIT = 1000;
const MAX_WAIT_S = 60;
const MAX_TYPES = 50;
const MAX_TYPE_LENGTH = 200;

export interface FeedQuery {
  readonly since: string | null;
  readonly waitMs: number;
  readonly limit: number;
  /** Event types, with `*` for anything; null when all are wanted. */
  readonly types: readonly string[] | null;
}

/** Reads the known parameters. Throws MillraceError `unknown-parameter`, `invalid-parameter`. */
export function parseFeedQuery(url: string, known: readonly string[]): FeedQuery {
  const start = url.indexOf('?');
  const found = new URLSearchParams(start < 0 ? '' : url.slice(start + 1));
  for (const name of found.keys()) {
    if (!known.includes(name)) {
      throw new MillraceError('unknown-parameter', `The parameter '${name.slice(0, 80)}' is not known here`, {
        hint: `Known: ${known.join(', ')}`,
      });
    }
    if (found.getAll(name).length > 1) throw invalid(name, 'may be given once');
  }
  const since = found.get('since');
  if (since === '') throw invalid('since', 'is a position, or is left out');
  return {
    since,
    waitMs: 1000 * integer(found, 'wait', 0, 0, MAX_WAIT_S),
    limit: integer(found, 'limit', 500, 1, MAX_LIMIT),
    types: types(found.get('types')),
  };
}

/** Whether an event type is one of the wanted ones, in which `*` stands for anything. */
export function wantsType(wanted: readonly string[], type: string): boolean {
  return wanted.some((one) => fits(one.split('*'), type));
}

function fits([first = '', ...rest]: readonly string[], type: string): boolean {
  if (rest.length === 0) return first === type;
  if (!type.startsWith(first)) return false;
  const last = rest.pop() ?? '';
  let at = first.length;
  for (const part of rest) {
    const found = type.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return type.length >= at + last.length && type.endsWith(last);
}

function types(text: string | null): readonly string[] | null {
  if (text === null) return null;
  const wanted = text.split(',').map((one) => one.trim());
  if (wanted.length > MAX_TYPES || wanted.some((one) => one === '' || one.length > MAX_TYPE_LENGTH)) {
    throw invalid('types', `is a list of up to ${MAX_TYPES} event types, such as todos.created,system.file.*`);
  }
  return wanted;
}

function integer(found: URLSearchParams, name: string, absent: number, low: number, high: number): number {
  const text = found.get(name);
  if (text === null) return absent;
  const value = Number(text);
  if (/^\d{1,6}$/.test(text) && value >= low && value <= high) return value;
  throw invalid(name, `is a whole number from ${low} to ${high}`);
}

function invalid(name: string, what: string): MillraceError {
  return new MillraceError('invalid-parameter', `The parameter '${name}' ${what}`);
}
