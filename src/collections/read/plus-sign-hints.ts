/** Texts in conditions that URL decoding has probably changed: a `+` there means a space. Also invalid times. Pure. */

import { clientPath } from '../../query/field-paths.ts';
import { and, type Filter, fieldFilter, forEachFieldTest, or, type UnboundFilter } from '../../query/filter.ts';
import { QUERY_LIMITS } from '../../query/limits.ts';
import { readDate } from '../../query/parse-values.ts';
import { MAX_HINT_VALUE_CHARACTERS, quoteHintValue, textsInTest } from './value-hints.ts';

const TIME_SHAPE = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;
const LOST_OFFSET = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?) (\d\d:?\d\d)$/;

/** Texts that look like a time but are invalid: their `+` became a space, or the time does not exist. */
export function invalidTimeHints(filter: UnboundFilter): readonly string[] {
  const found = new Set<string>();
  forEachFieldTest(filter, (test, path) => {
    const values = test.op === 'in' || test.op === 'all' ? test.values : 'value' in test ? [test.value] : [];
    for (const value of values) {
      if (typeof value !== 'string' || !TIME_SHAPE.test(value) || readDate(value) !== null) continue;
      const name = clientPath(path).slice(0, MAX_HINT_VALUE_CHARACTERS);
      const [, time, offset] = LOST_OFFSET.exec(value) ?? [];
      found.add(
        time === undefined || offset === undefined
          ? `'${name}' is compared with ${quoteHintValue(value)}, which is not a time in ISO 8601, so it is compared as a string.`
          : `'${name}' is compared with ${quoteHintValue(value)}, where a + has become a space; in a URL it is written ${time}%2B${offset}.`,
      );
    }
  });
  return [...found];
}

/** Spaces of one text of which every combination with pluses is tested. */
const MAX_REDACTIONS = 6;
/** Texts with spaces that are tested in one filter. */
const MAX_TRIED = 10;

/**
 * The filter with every space of its texts read as a space or a plus, and the hint if that matches something. Null when
 * no text has a space.
 */
export function findLostPluses(filter: Filter): { readonly filter: Filter; readonly sentence: string } | null {
  const named: { readonly path: string; readonly text: string }[] = [];
  const widened = widen(filter, named);
  const [first] = named;
  if (first === undefined || named.length > MAX_TRIED) return null;
  const name = clientPath(first.path).slice(0, MAX_HINT_VALUE_CHARACTERS);
  const sentence = `No document has ${quoteHintValue(first.text)} in '${name}', but one matches with a + instead of a space; in a URL a + is written %2B.`;
  return { filter: widened, sentence };
}

function widen(filter: Filter, named: { path: string; text: string }[]): Filter {
  switch (filter.kind) {
    case 'field': {
      const { path, test } = filter;
      const blank = textsInTest(test).filter((text) => text.includes(' ') && text.length <= QUERY_LIMITS.textLength);
      if (blank.length === 0) return filter;
      named.push(...blank.map((text) => ({ path, text })));
      if (test.op === 'text') return or(withPluses(test.text).map((text) => fieldFilter(path, { ...test, text })));
      if (test.op === 'all' && test.values.length === 1)
        return fieldFilter(path, { op: 'in', values: blank.flatMap(withPluses) });
      if (test.op === 'gt' || test.op === 'gte' || test.op === 'lt' || test.op === 'lte')
        return or(blank.flatMap(withPluses).map((value) => fieldFilter(path, { op: test.op, value })));
      if (test.op === 'in')
        return fieldFilter(path, { op: 'in', values: [...test.values, ...blank.flatMap(withPluses)] });
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

/** The text with its spaces as spaces or pluses: all combinations for a few, all and each alone for more. */
function withPluses(text: string): readonly string[] {
  const [first = '', ...parts] = text.split(' ');
  if (parts.length > MAX_REDACTIONS) {
    const alone = parts.map((_, at) =>
      parts.reduce((sum, part, index) => `${sum}${index === at ? '+' : ' '}${part}`, first),
    );
    return [text, text.replaceAll(' ', '+'), ...alone.slice(0, MAX_REDACTIONS)];
  }
  return parts.reduce<string[]>((sums, part) => sums.flatMap((sum) => [`${sum} ${part}`, `${sum}+${part}`]), [first]);
}
