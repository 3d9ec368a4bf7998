/**
 * Images of foreign collections are enabled during recording, never before: what delays that, a transaction of another
 * client or an index build, delays no other change.
 */
import { type Document, MongoClient } from 'mongodb';
import t, { type Test } from 'tap';
import { testReplicaSet } from '../../helpers/database/replica-set.ts';
import { eventFixture, type Fixture, type Node } from '../../helpers/events/event-fixture.ts';
import { until } from '../../helpers/until.ts';

const set = await testReplicaSet(t, { args: ['--setParameter', 'enableTestCommands=1'] });
const INDEX_BUILD = 12587;

const others = (node: Node) => node.rows.some((row) => row.operation === 'insert' && row.collection === 'others');
const warned = (node: Node, issue: RegExp) =>
  node.notes.some(({ level, details }) => level === 'warn' && issue.test(String(details['error'])));

async function keeps(fixture: Fixture, name: string): Promise<boolean> {
  const [one] = await fixture.mongo.data.listCollections({ name }).toArray();
  return one !== undefined && 'options' in one && one.options?.['changeStreamPreAndPostImages']?.enabled === true;
}

/** A transaction of another client with a lock on the collection `foreign`. */
async function transaction(t: Test, fixture: Fixture) {
  const client = new MongoClient(set.url);
  t.teardown(() => client.close());
  const foreign = client.db(fixture.database).collection('foreign');
  await foreign.insertOne({ n: 1 });
  const session = client.startSession();
  session.startTransaction();
  await foreign.insertOne({ n: 2 }, { session });
  return { foreign, commit: () => session.commitTransaction() };
}

t.test('a transaction of another client delays neither the first row nor later ones', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const { foreign, commit } = await transaction(t, fixture);
  const node = await fixture.node({ imagesMs: 100 });
  t.match(node.rows[0], { operation: 'start', number: 1 });
  await fixture.mongo.data.collection('others').insertOne({});
  await until(() => others(node), 'recorded while the transaction is open');
  await until(() => warned(node, /time limit/), 'the change gave up, and an operator is notified');
  // Behind an unlimited wait this write would wait, too.
  await foreign.insertOne({ n: 3 });
  t.notOk(await keeps(fixture, 'foreign'));
  await commit();
  await until(() => keeps(fixture, 'foreign'), 'switched over once it can be');
  await foreign.updateOne({ n: 1 }, { $set: { m: 1 } });
  await until(() => node.rows.some((row) => row.operation === 'update' && row.before), 'with its states from then on');
});

t.test('a transaction of another client does not delay a recorder that takes over', async (t) => {
  const fixture = await eventFixture(t, set.url);
  await (await fixture.node()).stop();
  const { commit } = await transaction(t, fixture);
  const node = await fixture.node({ imagesMs: 100 });
  await fixture.mongo.data.collection('others').insertOne({});
  await until(() => others(node), 'recorded while the transaction is open');
  await commit();
});

t.test('an index build delays only enabling images, which is retried', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const fail = (mode: object | string, data: Document = {}) =>
    fixture.mongo.client.db('admin').command({ configureFailPoint: 'failCommand', mode, data });
  t.teardown(() => fail('off'));
  await fixture.mongo.data.createCollection('foreign');
  await fail('alwaysOn', {
    errorCode: INDEX_BUILD,
    failCommands: ['collMod'],
    namespace: `${fixture.database}.foreign`,
  });
  const node = await fixture.node({ imagesMs: 100 });
  await fixture.mongo.data.collection('others').insertOne({});
  await until(() => others(node) && warned(node, /./), 'recorded, and logged');
  t.equal(node.recorder.state.error, null);
  await fail('off');
  await until(() => keeps(fixture, 'foreign'), 'switched over once it can be');
});

t.test('collections created while others hold the lock get images later, too', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const node = await fixture.node({ imagesMs: 100 });
  const fail = (mode: object | string, data: Document = {}) =>
    fixture.mongo.client.db('admin').command({ configureFailPoint: 'failCommand', mode, data });
  t.teardown(() => fail('off'));
  await fail('alwaysOn', {
    errorCode: INDEX_BUILD,
    failCommands: ['collMod'],
    namespace: `${fixture.database}.foreign`,
  });
  await fixture.mongo.data.createCollection('foreign');
  await until(() => warned(node, /./), 'noted');
  await fail('off');
  await until(() => keeps(fixture, 'foreign'), 'switched over once it can be');
});
