/** Random filters over the random documents: every operator, alone and under logic, at paths that reach everywhere. */
import {
  and,
  BSON_TYPE_NAMES,
  type BsonValue,
  type FieldTest,
  type Filter,
  fieldFilter,
  not,
  or,
} from '../../src/query/filter.ts';
import type { Random } from './random.ts';
import { BINARIES, DATES, IDS, NUMBERS, TEXTS } from './random-documents.ts';

export const PATHS = ['a', 'b', '0', 'a.a', 'a.b', 'b.a', 'a.0', 'a.1', 'a.0.a', 'a.0.0', 'a.b.a', 'b.1.b', '_id', 'c'];

const PATTERNS = [
  'a',
  '^a',
  'b$',
  'a.b',
  '(?s)a.b',
  '(?i)k',
  '(?i)[a-k]',
  'a\\sb',
  '\\w+$',
  '^[^a]*$',
  '(?:a|b)c?$',
  '',
  'é',
  '\\bb',
  '^$',
  '[\\w.]c',
  '(?i)ß',
];
const LIKES = ['*', 'a*', '*b', 'a*c', '*a*', '*a*b*', 'ab', '', '**b', '*\n*'];

/** What is drawn for each test of the language. A test that is missing here does not compile. */
const LEAVES: Readonly<Record<Exclude<FieldTest['op'], 'not' | 'elem' | 'elemWhere'>, readonly string[]>> = {
  in: ['in'],
  all: ['all'],
  gt: ['gt'],
  gte: ['gte'],
  lt: ['lt'],
  lte: ['lte'],
  exists: ['exists true', 'exists false'],
  type: ['type'],
  size: ['size'],
  text: ['contains', 'icontains', 'startsWith', 'istartsWith', 'endsWith', 'iendsWith', 'like', 'ilike'],
  regex: ['regex'],
};

/** Tests that contain no other test. */
const LEAF_NAMES = Object.values(LEAVES).flat();
export const TEST_NAMES = [...LEAF_NAMES, 'not', 'elem', 'elemWhere'];

export function operand(random: Random, depth = 2): BsonValue {
  if (depth > 0 && random.chance(0.12)) return random.several(0, 2, () => operand(random, depth - 1));
  if (depth > 0 && random.chance(0.12)) {
    return Object.fromEntries(random.several(0, 2, () => [random.pick(['a', 'b']), operand(random, depth - 1)]));
  }
  switch (random.below(10)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
      return random.pick(DATES);
    case 3:
      return random.pick(IDS);
    case 4:
      return random.pick(BINARIES);
    case 5:
    case 6:
      return random.pick(TEXTS);
    default:
      return random.pick(NUMBERS);
  }
}

/** A test by its name in {@link TEST_NAMES}. */
export function test(random: Random, name: string, depth = 2): FieldTest {
  switch (name) {
    case 'in':
      return { op: 'in', values: random.several(0, 4, () => operand(random)) };
    case 'all':
      return { op: 'all', values: random.several(0, 2, () => operand(random)) };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return { op: name, value: operand(random) };
    case 'exists true':
      return { op: 'exists', exists: true };
    case 'exists false':
      return { op: 'exists', exists: false };
    case 'type':
      return { op: 'type', types: random.several(1, 2, () => random.pick(BSON_TYPE_NAMES)) };
    case 'size':
      return { op: 'size', size: random.below(4) };
    case 'regex':
      return { op: 'regex', pattern: random.pick(PATTERNS) };
    case 'like':
    case 'ilike':
      return { op: 'text', how: 'like', fold: name === 'ilike', text: random.pick([...LIKES, ...TEXTS]) };
    case 'not':
      return { op: 'not', tests: unlike(random.several(1, 3, () => test(random, random.pick(TEST_NAMES), depth - 1))) };
    case 'elem':
      return { op: 'elem', tests: unlike(random.several(1, 3, () => elementTest(random, depth))) };
    case 'elemWhere':
      return { op: 'elemWhere', filter: filter(random, depth - 1) };
    default: {
      const fold = name.startsWith('i');
      const how = fold ? name.slice(1) : name;
      if (how !== 'contains' && how !== 'startsWith' && how !== 'endsWith') throw new RangeError(name);
      return { op: 'text', how, fold, text: random.pick(random.chance(0.5) ? ['a', 'b', 'k', ''] : TEXTS) };
    }
  }
}

/** One element has each kind of test once, as one JSON object can express; but several texts. */
function unlike(tests: readonly FieldTest[]): FieldTest[] {
  const kind = ({ op }: FieldTest): string => op.slice(0, 4); // Both ways of testing elements are one operator.
  return tests.filter((one, n) => one.op === 'text' || tests.findIndex((other) => kind(other) === kind(one)) === n);
}

function elementTest(random: Random, depth: number): FieldTest {
  const leaf = test(random, random.pick(depth > 0 ? TEST_NAMES : LEAF_NAMES), depth - 1);
  return random.chance(0.3) ? { op: 'not', tests: [leaf] } : leaf;
}

export function filter(random: Random, depth = 2): Filter {
  if (depth <= 0 || random.chance(0.4)) {
    return fieldFilter(random.pick(PATHS), test(random, random.pick(TEST_NAMES), depth));
  }
  const filters = random.several(0, 3, () => filter(random, depth - 1));
  return random.pick([and, or, (all: readonly Filter[]) => not(or(all))])(filters);
}
