/** Envelopes: types, authors, changed fields, and system events. */
import { isDeepStrictEqual } from 'node:util';
import { BSON, Timestamp } from 'mongodb';
import t from 'tap';
import { encodeEvent, eventType, toEvent } from '../../../src/events/log/event.ts';
import { resourcesOfRow } from '../../../src/events/log/event-visibility.ts';
import { LOG_ROW_DEFAULTS, type LogRow } from '../../../src/events/log/log-row.ts';
import { formatPosition, parsePosition } from '../../../src/events/log/position.ts';
import { seeded } from '../../query/random.ts';
import { documentFields } from '../../query/random-documents.ts';

const bytes = (document: object) => Buffer.from(BSON.serialize(document));
const row = (more: Partial<LogRow>): LogRow => ({
  ...LOG_ROW_DEFAULTS,
  number: 1042,
  epoch: 3,
  token: '82',
  time: new Timestamp({ t: 1, i: 1 }),
  wall: new Date('2026-01-02T03:04:05.678Z'),
  operation: 'insert',
  collection: 'todos',
  key: bytes({ _id: 'a' }),
  ...more,
});
const meta = (revision: number) => ({ revision, by: 'user:u1', request: 'req_1', createdBy: 'u1' });

t.test('the envelope of an update has both states in wire form', async (t) => {
  const event = toEvent(
    row({
      operation: 'update',
      before: bytes({ _id: 'a', title: 'old', same: { n: 1 }, gone: 1, _meta: meta(1) }),
      after: bytes({ _id: 'a', title: 'new', same: { n: 1 }, _meta: meta(2) }),
      by: 'user:u1',
      request: 'req_1',
      transaction: { id: 's:1', index: 0, last: true },
    }),
  );
  t.match(event, {
    id: '3-1042',
    type: 'todos.updated',
    timestamp: '2026-01-02T03:04:05.678Z',
    collection: 'todos',
    documentId: 'a',
    revision: 2,
    changed: ['title', 'gone'],
    actor: { kind: 'user', id: 'u1' },
    request: 'req_1',
    transaction: 's:1',
    data: { id: 'a', title: 'new', same: { n: 1 }, _meta: { revision: 2 } },
    before: { id: 'a', title: 'old' },
  });
  t.notMatch(JSON.stringify(event), 'user:u1', 'stored stamps stay inside');
});

t.test('created and deleted events have one state and no list of changes', async (t) => {
  const after = bytes({ _id: 'a', title: 'x' });
  t.match(toEvent(row({ after })), { type: 'todos.created', changed: null, before: null, revision: 0, actor: null });
  t.match(toEvent(row({ operation: 'delete', before: bytes({ _id: 'a', _meta: meta(4) }) })), {
    type: 'todos.deleted',
    changed: null,
    data: null,
    revision: 4,
  });
});

t.test('without a state before, an update has the changed fields', async (t) => {
  const update = bytes({
    updatedFields: { 'a.b': 1, '_meta.revision': 2 },
    removedFields: ['c'],
    truncatedArrays: [{ field: 'd.e', newSize: 1 }],
  });
  t.same(toEvent(row({ operation: 'update', update, after: bytes({ _id: 'a' }) }))?.changed, ['a', 'c', 'd']);
});

t.test('every row has the type of its operation and collection', async (t) => {
  const types = (cases: readonly (readonly [Partial<LogRow>, string | null])[]) => {
    for (const [more, type] of cases)
      t.equal(eventType(row(more)), type, JSON.stringify([more.operation, more.collection]));
  };
  types([
    [{ operation: 'replace' }, 'todos.updated'],
    [{ operation: 'drop' }, 'todos.dropped'],
    [{ operation: 'rename', to: 'x' }, 'todos.renamed'],
    [{ operation: 'create' }, null],
    [{ operation: 'meta' }, null],
    [{ operation: 'start', collection: null }, null],
    [{ operation: 'reset' }, null],
    [{ operation: 'gap', collection: null }, 'system.event-log.gap'],
    [{ collection: '_files' }, 'system.file.created'],
    [{ collection: '_users', operation: 'update' }, 'system.user.updated'],
    [{ collection: '_policies', operation: 'update' }, 'system.policy.updated'],
    [{ collection: '_sessions', operation: 'delete' }, 'system.session.deleted'],
    [{ collection: '_activity', after: bytes({ type: 'system.auth.failed' }) }, 'system.auth.failed'],
    [{ collection: '_activity', after: bytes({ type: 'system.nothing.such' }) }, 'system.activity.created'],
    [{ collection: '_other' }, '_other.created'],
    [{ collection: '_activity', after: bytes({ type: 'todos.created' }) }, 'system.activity.created'],
  ]);
  t.equal(toEvent(row({ collection: '_files', after: bytes({ _id: 'f' }) }))?.collection, null);
});

t.test('the table of event types decides who may see a row', async (t) => {
  const spots = (more: Partial<LogRow>) => resourcesOfRow(row(more));
  const occurrence = (type: string) => spots({ collection: '_activity', after: bytes({ type }) });
  t.strictSame(occurrence('system.auth.failed'), ['_admin:accounts']);
  t.strictSame(occurrence('system.event-log.stopped'), ['_events'], 'an occurrence that is not about users');
  t.strictSame(occurrence('system.nothing.such'), ['_admin:accounts'], 'what is not known is secret');
  t.strictSame(spots({ collection: '_activity', after: null }), ['_admin:accounts']);
  t.strictSame(spots({ collection: '_other' }), ['_admin:accounts']);
  t.strictSame(spots({ collection: '_policies' }), ['_events']);
  t.strictSame(spots({ collection: '_files' }), ['_files'], 'as policies name files');
  t.strictSame(spots({ operation: 'gap', collection: null }), ['_events']);
  t.strictSame(spots({ operation: 'rename', to: '_users' }), ['todos', '_admin:accounts']);
});

t.test('positions are parsed in exactly one form', async (t) => {
  t.same(parsePosition(formatPosition({ epoch: 3, number: 1042 })), { epoch: 3, number: 1042 });
  for (const text of ['', '3', '3-', '-1', '0-1', '3-01', '3-1e3', ' 3-1', '3-1 ', `1-${'9'.repeat(17)}`])
    t.equal(parsePosition(text), null, text);
});

t.test('a document that could not be written back exactly still has an event', async (t) => {
  const after = bytes({ _id: 'a', odd: null });
  // The deprecated BSON type undefined, which the driver does not write but other writers did.
  after[after.indexOf('odd') - 1] = 0x06;
  t.match(toEvent(row({ after })), { data: { id: 'a', odd: null } });
});

t.test('an event is the same JSON, built from bytes or from objects', async (t) => {
  const random = seeded(t);
  const state = () => (random.chance(0.2) ? null : bytes({ _id: 'a', ...documentFields(random), _meta: meta(2) }));
  const rows = Array.from({ length: 300 }, () =>
    row({ operation: random.pick(['insert', 'update', 'replace', 'delete']), before: state(), after: state() }),
  );
  const others = [row({ operation: 'gap', collection: null, key: null }), row({ operation: 'rename', to: 'notes' })];
  const pairs = [...rows, ...others, row({ operation: 'create', key: null })].map((one) => {
    const event = toEvent(one);
    const json = encodeEvent(one);
    // Parsed, because an object moves fields with number-like names to the front, and bytes keep their order.
    return { built: json && JSON.parse(json.toString()), expected: event && JSON.parse(JSON.stringify(event)) };
  });
  const wrong = pairs.filter(({ built, expected }) => !isDeepStrictEqual(built, expected));
  t.strictSame(wrong.slice(0, 1), [], `${wrong.length} of ${pairs.length} differ`);
});
