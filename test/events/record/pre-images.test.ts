/**
 * Collections of others are switched to images while they are recorded, never before: what holds a switch up, a
 * transaction of somebody else or an index that is being built, holds up no other change.
 */
import { type Document, MongoClient } from 'mongodb';
import t, { type Test } from 'tap';
import { testReplicaSet } from '../../helpers/database/replica-set.ts';
import { eventWorld, type Node, type World } from '../../helpers/events/event-world.ts';
import { until } from '../../helpers/until.ts';

const set = await testReplicaSet(t, { args: ['--setParameter', 'enableTestCommands=1'] });
const INDEX_BUILD = 12587;

const others = (node: Node) => node.rows.some((row) => row.operation === 'insert' && row.collection === 'others');
const warned = (node: Node, fault: RegExp) =>
  node.notes.some(({ level, details }) => level === 'warn' && fault.test(String(details['fault'])));

async function keeps(world: World, name: string): Promise<boolean> {
  const [one] = await world.mongo.data.listCollections({ name }).toArray();
  return one !== undefined && 'options' in one && one.options?.['changeStreamPreAndPostImages']?.enabled === true;
}

/** A transaction of somebody else that holds its lock on the collection `foreign`. */
async function transaction(t: Test, world: World) {
  const client = new MongoClient(set.url);
  t.teardown(() => client.close());
  const foreign = client.db(world.database).collection('foreign');
  await foreign.insertOne({ n: 1 });
  const session = client.startSession();
  session.startTransaction();
  await foreign.insertOne({ n: 2 }, { session });
  return { foreign, commit: () => session.commitTransaction() };
}

t.test('a transaction of others holds up neither the first row nor what follows', async (t) => {
  const world = await eventWorld(t, set.url);
  const { foreign, commit } = await transaction(t, world);
  const node = await world.node({ imagesMs: 100 });
  t.match(node.rows[0], { operation: 'start', number: 1 });
  await world.mongo.data.collection('others').insertOne({});
  await until(() => others(node), 'told while the transaction is open');
  await until(() => warned(node, /time limit/), 'the switch gave up, and an operator hears of it');
  // Behind a switch that waits without end this write would wait, too.
  await foreign.insertOne({ n: 3 });
  t.notOk(await keeps(world, 'foreign'));
  await commit();
  await until(() => keeps(world, 'foreign'), 'switched over once it can be');
  await foreign.updateOne({ n: 1 }, { $set: { m: 1 } });
  await until(() => node.rows.some((row) => row.operation === 'update' && row.before), 'with its states from then on');
});

t.test('nor does it hold up a recorder that takes over', async (t) => {
  const world = await eventWorld(t, set.url);
  await (await world.node()).stop();
  const { commit } = await transaction(t, world);
  const node = await world.node({ imagesMs: 100 });
  await world.mongo.data.collection('others').insertOne({});
  await until(() => others(node), 'told while the transaction is open');
  await commit();
});

t.test('an index that is being built holds up the switch alone, which is tried again', async (t) => {
  const world = await eventWorld(t, set.url);
  const fail = (mode: object | string, data: Document = {}) =>
    world.mongo.client.db('admin').command({ configureFailPoint: 'failCommand', mode, data });
  t.teardown(() => fail('off'));
  await world.mongo.data.createCollection('foreign');
  await fail('alwaysOn', { errorCode: INDEX_BUILD, failCommands: ['collMod'], namespace: `${world.database}.foreign` });
  const node = await world.node({ imagesMs: 100 });
  await world.mongo.data.collection('others').insertOne({});
  await until(() => others(node) && warned(node, /./), 'told, and noted');
  t.equal(node.recorder.state.fault, null);
  await fail('off');
  await until(() => keeps(world, 'foreign'), 'switched over once it can be');
});

t.test('what is made while others hold it is switched over later, too', async (t) => {
  const world = await eventWorld(t, set.url);
  const node = await world.node({ imagesMs: 100 });
  const fail = (mode: object | string, data: Document = {}) =>
    world.mongo.client.db('admin').command({ configureFailPoint: 'failCommand', mode, data });
  t.teardown(() => fail('off'));
  await fail('alwaysOn', { errorCode: INDEX_BUILD, failCommands: ['collMod'], namespace: `${world.database}.foreign` });
  await world.mongo.data.createCollection('foreign');
  await until(() => warned(node, /./), 'noted');
  await fail('off');
  await until(() => keeps(world, 'foreign'), 'switched over once it can be');
});
