/**
 * Whether the server answers a filter for certain. Its engine of patterns counts its steps and gives up on some texts;
 * the server then says "no match", so that a negation lets the document through. Who must not err judges what came once
 * more in memory, where patterns take linear time. Not here: who that is.
 */
import type { Filter, Test } from '../filter.ts';

/** Whether the server never gives up on the filter, whatever a document holds. */
export function isCertain(filter: Filter): boolean {
  return filter.kind === 'field' ? areCertain([filter.test]) : filter.filters.every(isCertain);
}

/** Several texts looked for in one element are one pattern for the server, with a search for each of them inside. */
function areCertain(tests: readonly Test[]): boolean {
  const texts = tests.filter(({ op }) => op === 'text' || op === 'regex');
  return texts.length <= 1 && tests.every(isCertainTest);
}

/**
 * A text in one place is certain: every start of the search counts its steps anew. What comes between the parts of a
 * `like`, and any repetition of a pattern, may take as many steps as the text is long.
 */
function isCertainTest(test: Test): boolean {
  switch (test.op) {
    case 'regex':
      return false;
    case 'text':
      return test.how !== 'like';
    case 'not':
    case 'elem':
      return areCertain(test.tests);
    case 'elemWhere':
      return isCertain(test.filter);
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
