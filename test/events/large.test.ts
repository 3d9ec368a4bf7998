/**
 * Changes near and above 16 MB, where a whole reply of the stream fails: on a server without the split stage by the
 * fallback, on one with it by joined fragments. Nothing is lost either way, and neighboring changes keep their states.
 */
import { BSON } from 'mongodb';
import t from 'tap';
import { testReplicaSet } from '../helpers/database/replica-set.ts';
import { eventFixture } from '../helpers/events/event-fixture.ts';
import { until } from '../helpers/until.ts';

const text = (mebibytes: number, email: string) => email.repeat(mebibytes * 1024 * 1024);

for (const newer of [false, true]) {
  t.test(newer ? 'with the split stage (6.0.27)' : 'by fallback (6.0.5)', async (t) => {
    const set = await testReplicaSet(t, { newer });
    const fixture = await eventFixture(t, set.url);
    await fixture.mongo.data.createCollection('things', { changeStreamPreAndPostImages: { enabled: true } });
    const node = await fixture.node();
    const things = fixture.mongo.data.collection<{ _id: number; text?: string; more?: string }>('things');

    await things.insertOne({ _id: 1, text: text(9, 'a') });
    await things.insertOne({ _id: 2, text: 'small' });
    // States before and after together are above 16 MB, and so is the whole entry.
    await things.updateOne({ _id: 1 }, { $set: { text: text(9, 'b') } });
    await things.updateOne({ _id: 2 }, { $set: { text: 'still small' } });
    // A single state that fits into a reply but not into a row together with its log fields.
    await things.insertOne({ _id: 3, text: text(13, 'c') });
    await things.insertOne({ _id: 4, text: 'small' });
    await things.deleteOne({ _id: 1 });
    await things.updateOne({ _id: 3 }, { $set: { text: text(13, 'd') } });
    await things.insertOne({ _id: 5 });
    const reported = () => node.rows.filter((row) => row.collection === 'things' && row.key !== null);
    await until(
      () => reported().some((row) => row.operation === 'insert' && keyOf(row.key) === 5),
      'the last one is recorded',
      60_000,
    );

    t.same(
      reported().map((row) => [row.operation, keyOf(row.key), row.big]),
      [
        ['insert', 1, false],
        ['insert', 2, false],
        ['update', 1, true],
        ['update', 2, false],
        ['insert', 3, true],
        ['insert', 4, false],
        ['delete', 1, false],
        ['update', 3, true],
        ['insert', 5, false],
      ],
    );
    const small = reported()[3];
    t.same(
      BSON.deserialize(small?.before ?? Buffer.of()),
      { _id: 2, text: 'small' },
      'its neighbours keep their states',
    );
    t.same(BSON.deserialize(small?.after ?? Buffer.of()), { _id: 2, text: 'still small' });
    t.same(
      node.rows.map((row) => row.number),
      node.rows.map((_, index) => index + 1),
    );
    t.notOk(node.rows.some((row) => row.operation === 'gap'));
    t.equal(node.recorder.state.status, 'recording');
    const large = node.notes.filter((note) => note.details['verdict'] === 'too-large').length;
    t.comment(`replies that were too large: ${large}`);
    t.equal(large > 0, !newer, 'only the fallback meets the error');
  });
}

const keyOf = (key: Buffer | null) => Number(BSON.deserialize(key ?? Buffer.of())['_id']);
