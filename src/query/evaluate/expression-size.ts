/**
 * The size of a filter's aggregation expressions, computed before it runs. The database limits how deeply a command is
 * nested, and parses a large expression slowly.
 */
import { MillraceError } from '../../lib/errors.ts';
import { isEscapedPath, splitPath } from '../field-paths.ts';
import type { UnboundFieldTest, UnboundFilter } from '../filter.ts';

/** Levels of one expression. The database allows 200 in a command; the filter around it has at most 70. */
const MAX_LEVELS = 100;
/** Maximum steps of all paths that become expressions; a path counts once for each value of `all`. */
const MAX_STEPS = 2_000;

interface Size {
  /** Maximum levels of nested objects and lists. */
  readonly levels: number;
  readonly steps: number;
}

const NONE: Size = { levels: 0, steps: 0 };

/** True if the database's filters cannot express it: a path in it, or in a test of an array's elements, is escaped. */
export function needsExpression(filter: UnboundFilter): boolean {
  if (filter.kind !== 'field') return filter.filters.some(needsExpression);
  return isEscapedPath(filter.path) || testNeedsExpression(filter.test);
}

function testNeedsExpression(test: UnboundFieldTest): boolean {
  if (test.op === 'elemWhere') return needsExpression(test.filter);
  return 'tests' in test && test.tests.some(testNeedsExpression);
}

/** @throws MillraceError `invalid-filter`, `filter-too-expensive` */
export function checkExpressionLimits(filter: UnboundFilter): void {
  const { levels, steps } = sizeOf(filter, false);
  if (levels > MAX_LEVELS) {
    throw new MillraceError('invalid-filter', "A path with ['…'] has too many steps, or is nested too deeply", {
      hint: 'Paths of up to 10 steps are possible, and shorter ones inside of $elemMatch.',
    });
  }
  if (steps <= MAX_STEPS) return;
  const most = MAX_STEPS.toLocaleString('en');
  throw new MillraceError('filter-too-expensive', `The paths with ['…'] have more than ${most} steps together`, {
    hint: 'Use fewer values or conditions',
  });
}

/** @param inside true for part of an expression */
function sizeOf(filter: UnboundFilter, inside: boolean): Size {
  if (filter.kind !== 'field') {
    const { levels, steps } = largest(filter.filters.map((inner) => sizeOf(inner, inside)));
    return { levels: levels + (inside ? 4 : 0), steps };
  }
  const own = splitPath(filter.path).length;
  if (!inside && !needsExpression(filter)) return NONE;
  const test = sizeOfTest(filter.test);
  const values = filter.test.op === 'all' ? filter.test.values.length : 1;
  return { levels: 8 * own + 2 + test.levels, steps: own * values + test.steps };
}

function sizeOfTest(test: UnboundFieldTest): Size {
  if (test.op === 'elemWhere') {
    const { levels, steps } = sizeOf(test.filter, true);
    return { levels: levels + 9, steps };
  }
  if (!('tests' in test)) return { levels: 8, steps: 0 };
  const { levels, steps } = largest(test.tests.map(sizeOfTest));
  return { levels: levels + 7, steps };
}

function largest(sizes: readonly Size[]): Size {
  return sizes.reduce((sum, one) => ({ levels: Math.max(sum.levels, one.levels), steps: sum.steps + one.steps }), NONE);
}
