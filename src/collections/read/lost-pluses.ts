/**
 * Texts in conditions that an address has probably changed: a `+` there means a blank. Also times that are none. Pure.
 */
import { and, eachTest, type Filter, field, type OpenFilter, or } from '../../query/filter.ts';
import { LIMITS } from '../../query/limits.ts';
import { readDate } from '../../query/literals.ts';
import { writtenPath } from '../../query/paths.ts';
import { MAX_VALUE, quoted, textsOf } from './value-hints.ts';

const TIME_SHAPE = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;
const LOST_OFFSET = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?) (\d\d:?\d\d)$/;

/** Texts that look like a time and are none: one whose `+` became a blank, or one that does not exist. */
export function brokenTimes(filter: OpenFilter): readonly string[] {
  const found = new Set<string>();
  eachTest(filter, (test, path) => {
    const values = test.op === 'in' || test.op === 'all' ? test.values : 'value' in test ? [test.value] : [];
    for (const value of values) {
      if (typeof value !== 'string' || !TIME_SHAPE.test(value) || readDate(value) !== null) continue;
      const name = writtenPath(path).slice(0, MAX_VALUE);
      const [, time, offset] = LOST_OFFSET.exec(value) ?? [];
      found.add(
        time === undefined || offset === undefined
          ? `'${name}' is compared with ${quoted(value)}, which is not a time in ISO 8601, so texts are compared.`
          : `'${name}' is compared with ${quoted(value)}, where a + has become a blank; in an address it is written ${time}%2B${offset}.`,
      );
    }
  });
  return [...found];
}

/** Blanks of one text of which every combination with pluses is tried. */
const MAX_BLANKS = 6;
/** Texts with blanks that are tried in one filter. */
const MAX_TRIED = 10;

/**
 * The filter with every blank of its texts read as a blank or a plus, and what is said if that finds something. Null
 * when no text has a blank.
 */
export function lostPluses(filter: Filter): { readonly filter: Filter; readonly sentence: string } | null {
  const named: { readonly path: string; readonly text: string }[] = [];
  const widened = widen(filter, named);
  const [first] = named;
  if (first === undefined || named.length > MAX_TRIED) return null;
  const name = writtenPath(first.path).slice(0, MAX_VALUE);
  const sentence = `No document is found by ${quoted(first.text)} at '${name}', but one is with a + in the place of a blank; in an address a + is written %2B.`;
  return { filter: widened, sentence };
}

function widen(filter: Filter, named: { path: string; text: string }[]): Filter {
  switch (filter.kind) {
    case 'field': {
      const { path, test } = filter;
      const blank = textsOf(test).filter((text) => text.includes(' ') && text.length <= LIMITS.textLength);
      if (blank.length === 0) return filter;
      named.push(...blank.map((text) => ({ path, text })));
      if (test.op === 'text') return or(withPluses(test.text).map((text) => field(path, { ...test, text })));
      if (test.op === 'all' && test.values.length === 1)
        return field(path, { op: 'in', values: blank.flatMap(withPluses) });
      if (test.op === 'gt' || test.op === 'gte' || test.op === 'lt' || test.op === 'lte')
        return or(blank.flatMap(withPluses).map((value) => field(path, { op: test.op, value })));
      if (test.op === 'in') return field(path, { op: 'in', values: [...test.values, ...blank.flatMap(withPluses)] });
      return filter;
    }
    case 'and':
      return and(filter.filters.map((inner) => widen(inner, named)));
    case 'or':
      return or(filter.filters.map((inner) => widen(inner, named)));
    case 'nor':
      return filter;
    default:
      return filter satisfies never;
  }
}

/** The text with its blanks as blanks or pluses: all combinations for a few, all and each alone for more. */
function withPluses(text: string): readonly string[] {
  const [first = '', ...parts] = text.split(' ');
  if (parts.length > MAX_BLANKS) {
    const alone = parts.map((_, at) =>
      parts.reduce((sum, part, index) => `${sum}${index === at ? '+' : ' '}${part}`, first),
    );
    return [text, text.replaceAll(' ', '+'), ...alone.slice(0, MAX_BLANKS)];
  }
  return parts.reduce<string[]>((sums, part) => sums.flatMap((sum) => [`${sum} ${part}`, `${sum}+${part}`]), [first]);
}
