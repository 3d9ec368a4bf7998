/**
 * Whether the server's result for a filter is certain. Its regex engine counts its steps and gives up on some texts;
 * the server then reports "no match", so a negation lets the document through. A caller that must be exact tests the
 * returned documents again in memory, where patterns take linear time.
 */
import type { FieldTest, Filter } from '../filter.ts';

/** True if the server never gives up on the filter, whatever a document contains. */
export function isServerMatchReliable(filter: Filter): boolean {
  return filter.kind === 'field' ? areCertain([filter.test]) : filter.filters.every(isServerMatchReliable);
}

/**
 * Several texts searched for in one element become one pattern for the server, with one search for each text inside it.
 */
function areCertain(tests: readonly FieldTest[]): boolean {
  const texts = tests.filter(({ op }) => op === 'text' || op === 'regex');
  return texts.length <= 1 && tests.every(isCertainTest);
}

/**
 * A search for one text is certain: each start position counts its steps from zero. The gaps of a `like`, and
 * repetitions of a pattern, may take as many steps as the text is long.
 */
function isCertainTest(test: FieldTest): boolean {
  switch (test.op) {
    case 'regex':
      return false;
    case 'text':
      return test.how !== 'like';
    case 'not':
    case 'elem':
      return areCertain(test.tests);
    case 'elemWhere':
      return isServerMatchReliable(test.filter);
    case 'in':
    case 'all':
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
    case 'exists':
    case 'type':
    case 'size':
      return true;
    default:
      return test satisfies never;
  }
}
