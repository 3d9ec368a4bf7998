/**
 * The index of groups never misses one whose filter matches a document, on random filters and documents, whatever else
 * it finds; and removes groups without a trace.
 */
import { BSON } from 'mongodb';
import t from 'tap';
import { LOG_ROW_DEFAULTS } from '../../../src/events/log/log-row.ts';
import { compileMatcher } from '../../../src/query/evaluate/match.ts';
import { and, type Filter } from '../../../src/query/filter.ts';
import { CollectionSubscriptionGroups } from '../../../src/realtime/hub/collection-subscription-groups.ts';
import { FieldPathIndex } from '../../../src/realtime/hub/field-path-index.ts';
import { indexKeyOfFilter } from '../../../src/realtime/hub/filter-index-key.ts';
import { SubscriptionGroup } from '../../../src/realtime/hub/subscription-group.ts';
import type { LiveResult } from '../../../src/realtime/result/live-result-interface.ts';
import { LogRowView } from '../../../src/realtime/result/log-row-view.ts';
import { unbounded } from '../../helpers/unbounded.ts';
import { seeded } from '../../query/random.ts';
import { documentFields, id } from '../../query/random-documents.ts';
import { filter, test as randomTest, TEST_NAMES } from '../../query/random-filters.ts';

const FILTERS = 400;
/** At least this many have index keys; one in six has one by chance. */
const HANDLED = FILTERS / 10;
const DOCUMENTS = 400;
const PATHS = ['a', 'b', 'a.a', 'a.b', 'b.a', 'a.b.a'];

/** A live result without messages. */
function responding(key: string): LiveResult {
  return {
    key,
    collection: 'c',
    applyRow: () => [],
    needsRefill: false,
    rendersAlone: false,
    isHeavy: () => false,
    prepare: async () => {},
    isStateful: false,
    refill: async () => [],
    memoryAccount: unbounded(),
    chargeTo: () => {},
    end: () => {},
  };
}

t.test('the index finds every affected group', async (t) => {
  const random = seeded(t);
  const groups = new CollectionSubscriptionGroups();
  const filters = new Map<SubscriptionGroup, Filter>();
  let handled = 0;
  for (let count = 0; count < FILTERS || handled < HANDLED; count++) {
    const requested =
      count % 3 === 0
        ? filter(random)
        : and([
            {
              kind: 'field',
              path: PATHS[count % PATHS.length] ?? 'a',
              test: randomTest(random, TEST_NAMES[count % 6] ?? 'in'),
            },
            ...(count % 2 === 0 ? [filter(random)] : []),
          ]);
    const group = new SubscriptionGroup(responding(String(count)), indexKeyOfFilter(requested), {
      after: 0,
      until: null,
      absent: null,
    });
    filters.set(group, requested);
    groups.add(group);
    if (group.indexKey !== null) handled += 1;
  }
  t.comment(`${handled} of ${filters.size} have handles`);

  let received = 0;
  let met = 0;
  for (let number = 1; number <= DOCUMENTS; number++) {
    const state = () => Buffer.from(BSON.serialize({ _id: id(random, number) as never, ...documentFields(random) }));
    const time = new BSON.Timestamp({ t: 1, i: number });
    const row = {
      ...LOG_ROW_DEFAULTS,
      number,
      epoch: 1,
      token: '',
      time,
      wall: new Date(0),
      operation: 'update',
      collection: 'c',
    } as const;
    const view = new LogRowView({
      ...row,
      key: Buffer.from(BSON.serialize({ _id: number })),
      before: state(),
      after: state(),
    });
    const found = new Set<SubscriptionGroup>();
    groups.concerned(view, (group) => {
      if (found.has(group)) t.fail('a group is found once');
      found.add(group);
    });
    received += found.size;
    for (const [group, requested] of filters) {
      const match = compileMatcher(requested);
      if (!match(view.before ?? {}) && !match(view.after ?? {})) continue;
      met += 1;
      if (!found.has(group))
        t.fail(`${JSON.stringify(requested)} of ${JSON.stringify(view.after)} or ${JSON.stringify(view.before)}`);
    }
  }
  t.comment(`${met} of ${received} found are concerned, ${DOCUMENTS * filters.size} there are`);
  t.ok(met > 0 && received < DOCUMENTS * filters.size);

  for (const group of filters.keys()) groups.remove(group);
  t.equal(groups.size, 0);
  groups.all(() => t.fail('nothing is left'));
});

t.test('a long array takes linear time, however many bounds there are', async (t) => {
  const index = new FieldPathIndex('a.b');
  const groups = Array.from({ length: 2_000 }, (_, bound) => {
    const indexKey = { kind: 'above', path: 'a.b', boundType: 'number', bound } as const;
    const group = new SubscriptionGroup(responding(`g${bound}`), indexKey, { after: 0, until: null, absent: null });
    index.add(indexKey, group);
    return group;
  });
  const found = new Set<SubscriptionGroup>();
  const began = process.cpuUsage();
  index.find({ a: Array.from({ length: 50_000 }, (_, n) => ({ b: n % 1_500 })) }, found);
  const { user, system } = process.cpuUsage(began);
  t.same(found, new Set(groups.slice(0, 1_500)), 'those whose bound is not above the largest number');
  t.ok(user + system < 150_000, `${(user + system) / 1_000} ms of CPU`);
});
