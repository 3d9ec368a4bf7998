/** Page cursors: decoding returns what was encoded, and only for cursors of this instance and the same query. */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { Decimal128, Double, Int32, Long, ObjectId } from 'bson';
import t from 'tap';
import { decodeDocument } from '../../../src/database/bson/stored-document.ts';
import { compareValues } from '../../../src/query/evaluate/bson-order.ts';
import { decodeCursor as decode, encodeCursor } from '../../../src/query/page/cursor.ts';
import type { PagePosition } from '../../../src/query/page/page.ts';
import { seeded } from '../random.ts';
import { value } from '../random-documents.ts';

const decodeCursor = (key: KeyObject, query: string, cursor: string) => decode([key], query, cursor, decodeDocument);

const KEY = createSecretKey(randomBytes(32));

t.test('values of every type survive a cursor exactly', async (t) => {
  const random = seeded(t);
  for (let n = 0; n < 200; n++) {
    const position: PagePosition = { direction: random.pick(['next', 'prev']), values: [value(random), undefined, n] };
    const back = decodeCursor(KEY, 'q', encodeCursor(KEY, 'q', position));
    t.equal(back.direction, position.direction);
    t.ok(position.values.every((one, index) => compareValues(one, back.values[index]) === 0));
  }
  const exact = [new Int32(1), new Double(1), Long.fromString('9007199254740993'), Decimal128.fromString('1.10')];
  const { values } = decodeCursor(
    KEY,
    'q',
    encodeCursor(KEY, 'q', { direction: 'next', values: [...exact, new ObjectId()] }),
  );
  t.same(values.slice(0, 4).map(String), ['1', '1', '9007199254740993', '1.10']);
});

t.test('what was seen of neighbors is in the cursor, and unknown where the cursor lacks it', async (t) => {
  const position: PagePosition = { direction: 'prev', values: ['a', new Int32(1)] };
  for (const [at, alone] of [
    [position, false],
    [{ ...position, alone: false }, false],
    [{ ...position, alone: true }, true],
  ] as const) {
    t.equal(decodeCursor(KEY, 'q', encodeCursor(KEY, 'q', at)).alone, alone);
  }
});

t.test('a date out of range is rejected, and not replaced by another', async (t) => {
  const position: PagePosition = { direction: 'next', values: [new Date(Number.NaN), new Int32(1)] };
  t.throws(() => encodeCursor(KEY, 'q', position), { code: 'invalid-parameter', message: /date out of range/ });
});

t.test('another query, another key, and any change are rejected', async (t) => {
  const position: PagePosition = { direction: 'next', values: ['a', new Int32(1)] };
  const cursor = encodeCursor(KEY, 'question', position);
  t.match(cursor, /^[A-Za-z0-9_-]{40,200}$/);
  const refused = [
    () => decodeCursor(KEY, 'other', cursor),
    () => decodeCursor(createSecretKey(randomBytes(32)), 'question', cursor),
    () => decodeCursor(KEY, 'question', ''),
    () => decodeCursor(KEY, 'question', 'x'.repeat(100_000)),
    () => decodeCursor(KEY, 'question', `${cursor}=`),
    () => decodeCursor(KEY, 'question', cursor.slice(1)),
    () => decodeCursor(KEY, 'question', `${cursor.slice(0, -4)}BBBB`),
    () =>
      decodeCursor(
        KEY,
        'question',
        cursor.replace(/./, (first) => (first === 'A' ? 'B' : 'A')),
      ),
  ];
  for (const attempt of refused) t.throws(attempt, { code: 'cursor-mismatch', status: 400 });
});

t.test('a key that is too large for a cursor is an error', async (t) => {
  const large: PagePosition = { direction: 'next', values: ['x'.repeat(3_000)] };
  t.throws(() => encodeCursor(KEY, 'q', large), { code: 'invalid-parameter' });
});
