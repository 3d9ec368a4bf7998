/**
 * The cost of a filter, computed before it runs: nanoseconds for each byte of a document tested in memory, in the
 * measured worst case. It limits which filters are accepted, and selects the documents whose evaluation yields. It does
 * not estimate the cost in the database.
 */
import { MillraceError } from '../../lib/errors.ts';
import { type UnboundFieldTest, type UnboundFilter, Variable } from '../filter.ts';
import { QUERY_LIMITS } from '../limits.ts';
import { patternWeight } from '../text/pattern.ts';
import { checkExpressionLimits } from './expression-size.ts';

/** A text is usually folded and searched faster; the engine's search is slow for some texts. */
export const TEXT_MATCH_COST = 10;
const UNIT_OF_TEXT = 0.15;
/** For each character that a pattern may match, where a text keeps leading its automaton to new states. */
const UNIT_OF_PATTERN = 25;

/** Nanoseconds per byte. Each condition counts at least one. */
export function filterCost(filter: UnboundFilter): number {
  return filter.kind === 'field' ? costOfTest(filter.test) : sum(filter.filters.map(filterCost));
}

function costOfTest(test: UnboundFieldTest): number {
  switch (test.op) {
    case 'text': {
      const length = test.text instanceof Variable ? QUERY_LIMITS.textLength : test.text.length;
      return TEXT_MATCH_COST + UNIT_OF_TEXT * length;
    }
    case 'regex':
      return TEXT_MATCH_COST + UNIT_OF_PATTERN * patternWeight(test.pattern);
    case 'not':
    case 'elem':
      return sum(test.tests.map(costOfTest));
    case 'elemWhere':
      return filterCost(test.filter);
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
export const DOCUMENT_READ_COST = 50;

/** Nanoseconds from which an evaluation yields. */
const HEAVY_NS = 100_000;

/** True if a filter of that cost takes long, in the worst case, on a document of this many bytes. */
export function isExpensiveMatch(cost: number, bytes: number): boolean {
  return cost * bytes > HEAVY_NS;
}

const sum = (costs: readonly number[]): number => costs.reduce((total, cost) => total + cost, 0);

/**
 * The filter itself, when it costs no more than the bound.
 * @throws MillraceError `filter-too-expensive`; `invalid-filter` for expressions that are nested too deep
 */
export function requireAffordableFilter(filter: UnboundFilter, most: number): UnboundFilter {
  checkExpressionLimits(filter);
  const cost = Math.ceil(filterCost(filter));
  if (cost <= most) return filter;
  const [is, may] = [cost, most].map((one) => one.toLocaleString('en'));
  throw new MillraceError('filter-too-expensive', `The filter costs ${is}, and ${may} is the most here`, {
    hint: 'Use fewer or shorter strings and patterns',
  });
}
