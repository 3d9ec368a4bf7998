/**
 * The cost of a filter, computed before it runs: nanoseconds for each byte of a document tested in memory, in the
 * measured worst case. It limits which filters are accepted, and selects the documents whose evaluation yields. It does
 * not estimate the cost in the database.
 */
import { MillraceError } from '../../lib/errors.ts';
import { type OpenFilter, type OpenTest, Variable } from '../filter.ts';
import { LIMITS } from '../limits.ts';
import { patternWeight } from '../text/pattern.ts';
import { checkExpressions } from './expression-size.ts';

/** A text is usually folded and searched faster; the engine's search is slow for some texts. */
export const TEXT_COST = 10;
const UNIT_OF_TEXT = 0.15;
/** For each character that a pattern may match, where a text keeps leading its automaton to new states. */
const UNIT_OF_PATTERN = 25;

/** Nanoseconds per byte. Each condition counts at least one. */
export function costOf(filter: OpenFilter): number {
  return filter.kind === 'field' ? costOfTest(filter.test) : sum(filter.filters.map(costOf));
}

function costOfTest(test: OpenTest): number {
  switch (test.op) {
    case 'text': {
      const length = test.text instanceof Variable ? LIMITS.textLength : test.text.length;
      return TEXT_COST + UNIT_OF_TEXT * length;
    }
    case 'regex':
      return TEXT_COST + UNIT_OF_PATTERN * patternWeight(test.pattern);
    case 'not':
    case 'elem':
      return sum(test.tests.map(costOfTest));
    case 'elemWhere':
      return costOf(test.filter);
    case 'all':
      return Math.max(1, test.values.length);
    case 'in':
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
    case 'exists':
    case 'type':
    case 'size':
      return 1;
    default:
      return test satisfies never;
  }
}

/** The cost of reading a stored document into memory: highest where it has many short fields. */
export const READ_COST = 50;

/** Nanoseconds from which an evaluation yields. */
const HEAVY_NS = 100_000;

/** True if a filter of that cost takes long, in the worst case, on a document of this many bytes. */
export function isHeavy(cost: number, bytes: number): boolean {
  return cost * bytes > HEAVY_NS;
}

const sum = (costs: readonly number[]): number => costs.reduce((total, cost) => total + cost, 0);

/**
 * The filter itself, when it costs no more than the bound.
 * @throws MillraceError `filter-too-expensive`; `invalid-filter` for expressions that are nested too deep
 */
export function affordable(filter: OpenFilter, most: number): OpenFilter {
  checkExpressions(filter);
  const cost = Math.ceil(costOf(filter));
  if (cost <= most) return filter;
  const [is, may] = [cost, most].map((one) => one.toLocaleString('en'));
  throw new MillraceError('filter-too-expensive', `The filter costs ${is}, and ${may} is the most here`, {
    hint: 'Use fewer or shorter strings and patterns',
  });
}
