/** Variables as written: `$now`, `$now-7d`, `$user.id`, `$user.roles`, `$user.claims.<path>`. */
import { didYouMeanHint } from '../lib/did-you-mean.ts';
import { MillraceError } from '../lib/errors.ts';
import { Variable } from './filter.ts';

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const NOW = /^\$now(?:([+-]\d{1,9})(ms|s|m|h|d|w))?$/;
const CLAIM = /^\$user\.claims(?:\.[^.]+){1,8}$/;
const NAMES = ['$now', '$now-7d', '$user.id', '$user.roles', '$user.claims.x'];

/**
 * The value of a text: itself, or a variable when it starts with `$`. `$$` is an escaped literal `$`.
 * @throws MillraceError `invalid-filter` for a variable that does not exist
 */
export function parseTextOrVariable(text: string): string | Variable {
  if (!text.startsWith('$')) return requireWellFormedText(text);
  if (text.startsWith('$$')) return requireWellFormedText(text.slice(1));
  const now = NOW.exec(text);
  if (now !== null) return new Variable('now', Number(now[1] ?? 0) * (UNIT_MS[now[2] ?? 'ms'] ?? 0));
  if (text === '$user.id' || text === '$user.roles' || CLAIM.test(text)) return new Variable(text.slice(1));
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  throw new MillraceError('invalid-filter', `Unknown variable '${shown}'`, {
    hint: `${didYouMeanHint(text, NAMES)} A literal '$' at the start is written '$$'.`,
  });
}

/**
 * Returns the text if it can be written as UTF-8.
 * @throws MillraceError `invalid-filter` for half of a surrogate pair
 */
export function requireWellFormedText(text: string): string {
  if (text.isWellFormed()) return text;
  throw new MillraceError('invalid-filter', 'A value contains half of a surrogate pair');
}
