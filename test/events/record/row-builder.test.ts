/** Changes become rows: transactions and their ends, authors, stamps, and changes that are no events. */
import { BSON, Timestamp } from 'mongodb';
import t from 'tap';
import type { StreamChange } from '../../../src/database/cursors/stream-change.ts';
import { encodeLogRow, type LogRow, MAX_ROW_DOCUMENT_BYTES } from '../../../src/events/log/log-row.ts';
import { LogRowBuilder } from '../../../src/events/record/log-row-builder.ts';
import { cstring, element, frame, int32, string } from '../../helpers/database/bson-parts.ts';

const bytes = (document: object | null) => document && Buffer.from(BSON.serialize(document));

let token = 0;
function change(operation: string, more: Record<string, unknown> = {}): StreamChange {
  token += 1;
  const {
    key = { _id: 1 },
    after = null,
    before = null,
    update = null,
    ...rest
  } = more as Record<string, object | null>;
  return {
    token: token.toString(16).padStart(8, '0'),
    operation,
    time: new Timestamp({ t: 1, i: token }),
    wall: new Date(0),
    collection: 'a',
    to: null,
    big: false,
    transaction: null,
    key: bytes(key),
    after: bytes(after),
    before: bytes(before),
    update: bytes(update),
    ...rest,
  };
}

const creator = () => new LogRowBuilder({ number: 10, epoch: 3, transaction: null });
const ends = (rows: readonly LogRow[]) =>
  rows.map((row) => `${row.transaction?.id}/${row.transaction?.index}${row.transaction?.last ? '.' : ''}`);

t.test('numbers follow the newest row without a gap', async (t) => {
  const rows = creator().rows([change('insert'), change('create', { key: null }), change('createIndexes')], true);
  t.same(
    rows.map((row) => [row.epoch, row.number, row.operation]),
    [
      [3, 11, 'insert'],
      [3, 12, 'create'],
      [3, 13, 'meta'],
    ],
  );
});

t.test('the last row of a transaction is marked by the next event, by the end of the stream, or later', async (t) => {
  const one = { transaction: 's:1' };
  t.same(ends(creator().rows([change('insert', one), change('insert', one), change('insert')], true)), [
    's:1/0',
    's:1/1.',
    'undefined/undefined',
  ]);
  t.same(ends(creator().rows([change('insert', one), change('insert', { transaction: 's:2' })], true)), [
    's:1/0.',
    's:2/0.',
  ]);
  const cut = creator();
  t.same(ends(cut.rows([change('insert', one), change('insert', one)], false)), ['s:1/0'], 'the last one waits');
  t.equal(cut.holding, true);
  t.same(ends(cut.rows([change('insert', one)], false)), ['s:1/1']);
  t.same(ends(cut.rows([], true)), ['s:1/2.']);
  t.equal(cut.holding, false);
});

t.test('a transaction continues with the next index in a row maker that starts inside it', async (t) => {
  const resumed = new LogRowBuilder({ number: 5, epoch: 1, transaction: { id: 's:1', index: 4, last: false } });
  t.same(ends(resumed.rows([change('insert', { transaction: 's:1' })], true)), ['s:1/5.']);
});

t.test('updates of _meta alone and deletions of activity are no events, and end no transaction early', async (t) => {
  const stamp = {
    after: { _id: 1, _meta: { by: 'user:u1', request: 'r' } },
    update: { updatedFields: { '_meta.by': 'user:u1', '_meta.request': 'r' } },
  };
  const rows = creator().rows(
    [
      change('insert', { transaction: 'x' }),
      change('update', { ...stamp, transaction: 'x' }),
      change('delete', { collection: '_activity' }),
    ],
    true,
  );
  t.same(ends(rows), ['x/0.']);
  t.same(
    rows.map((row) => row.number),
    [11],
  );
  const both = { updatedFields: { '_meta.revision': 2, title: 'x' } };
  t.equal(creator().rows([change('update', { update: both })], true).length, 1, 'with another field it is one');
});

t.test('the author of a change is the principal that incremented the revision', async (t) => {
  const meta = (revision: number, by: string, request: string) => ({ _id: 1, _meta: { revision, by, request } });
  const authors = (...changes: StreamChange[]) =>
    creator()
      .rows(changes, true)
      .map((row) => [row.by, row.request]);
  const moved = { update: { updatedFields: { a: 1, '_meta.revision': 2 } } };
  t.same(authors(change('insert', { after: meta(1, 'user:u1', 'r1') })), [['user:u1', 'r1']]);
  t.same(authors(change('update', { before: meta(1, 'user:u1', 'r1'), after: meta(2, 'user:u2', 'r2'), ...moved })), [
    ['user:u2', 'r2'],
  ]);
  t.same(
    authors(change('update', { after: meta(2, 'user:u2', 'r2'), ...moved })),
    [['user:u2', 'r2']],
    'without a pre-image the update decides',
  );
  const foreign = { update: { updatedFields: { a: 1 } } };
  t.same(authors(change('update', { before: meta(1, 'user:u1', 'r1'), after: meta(1, 'user:u1', 'r1'), ...foreign })), [
    [null, null],
  ]);
  t.same(authors(change('insert', { after: { _id: 1 } })), [[null, null]]);
});

t.test('a deletion has the author of the stamp right before it; a foreign one has none', async (t) => {
  const stamped = { _id: 1, _meta: { revision: 3, by: 'user:u9', request: 'del' } };
  const stamp = change('update', {
    after: stamped,
    update: { updatedFields: { '_meta.by': 'user:u9', '_meta.request': 'del' } },
  });
  t.same(
    creator()
      .rows([stamp, change('delete', { before: stamped })], true)
      .map((row) => [row.by, row.request]),
    [['user:u9', 'del']],
  );
  const claimed = ['updatedFields', 'removedFields'].map((part) =>
    change('update', {
      after: stamped,
      update: { [part]: part === 'removedFields' ? ['_meta.claim'] : { '_meta.claim': true } },
    }),
  );
  t.same(
    creator()
      .rows([...claimed, change('delete', { before: stamped })], true)
      .map((row) => [row.by, row.request]),
    [[null, null]],
    'a claim is no stamp',
  );
  t.same(
    creator()
      .rows([change('delete', { before: stamped })], true)
      .map((row) => row.by),
    [null],
    'the last writer is not who deleted it',
  );
});

t.test('documents too large for a row are omitted', async (t) => {
  const half = { _id: 1, text: 'x'.repeat(MAX_ROW_DOCUMENT_BYTES / 2) };
  const [row] = creator().rows([change('update', { before: half, after: half })], true);
  t.match(row, { big: true, before: null, after: null, update: null });
  t.match(creator().rows([change('insert', { after: half })], true)[0], { big: false });
});

t.test('values of a foreign writer that JavaScript cannot represent stop nothing', async (t) => {
  const regex = (pattern: string, options: string) =>
    Buffer.concat([cstring(Buffer.from(pattern)), cstring(Buffer.from(options))]);
  const old = element(0x05, 'old', Buffer.concat([int32(5), Buffer.of(2), int32(9), Buffer.of(1)]));
  const title = { _id: 1, title: 'x' };
  for (const [what, odd] of [
    ['a group of PCRE', element(0x0b, 'odd', regex('(?i)foo', ''))],
    ['an unknown option', element(0x0b, 'odd', regex('foo', 'g'))],
    ['an old binary of a wrong length', old],
  ] as const) {
    const update = { update: frame([element(0x03, 'updatedFields', frame([odd]))]) };
    const bodies = { after: frame([odd]), before: frame([odd]) };
    const odd1 = { ...change('update'), ...bodies, ...update };
    const rows = creator().rows([odd1, change('insert', { after: title })], true);
    t.match(rows, [{ operation: 'update', by: null, after: odd1.after }, { operation: 'insert' }], what);
    for (const row of rows) t.ok(BSON.serialize(encodeLogRow(row)));
  }
  const keyed = (odd: Buffer) => {
    const key = frame([element(0x03, '_id', frame([odd]))]);
    const [row] = creator().rows([{ ...change('insert', { after: title }), key }], true);
    return { key, row };
  };
  for (const odd of [element(0x0c, 'odd', Buffer.concat([string(Buffer.from('a')), Buffer.alloc(12)])), old]) {
    const { row } = keyed(odd);
    t.match(row, { operation: 'insert', collection: 'a', key: null, after: null, big: false }, 'an id of that kind');
  }
  for (const odd of [
    element(0x0b, 'odd', regex('foo', 'g')),
    Buffer.concat([element(0x07, '$id', Buffer.alloc(12)), element(0x02, '$ref', string(Buffer.from('a.b')))]),
  ]) {
    const { key, row } = keyed(odd);
    const stored = row && BSON.serialize(encodeLogRow(row));
    t.ok(stored && Buffer.from(stored).includes(key), 'an id is kept as the very bytes it has');
  }
});
