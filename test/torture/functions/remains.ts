/** What the torture of functions leaves in the database, as the checker reads it. Not here: what it should be (checker.ts). */
import type { Mongo } from '../../../src/database/mongo.ts';
import type { Remains, RowLine } from './checker.ts';

/**
 * @param rows the changes that the trigger wants
 * @param acknowledged numbers of the states that writers know to be stored
 */
export async function remains(
  mongo: Mongo,
  rows: readonly RowLine[],
  acknowledged: readonly number[],
): Promise<Remains> {
  const all = async (name: string) =>
    (
      await mongo.data
        .collection(name)
        .find({}, { projection: { _meta: 0 } })
        .toArray()
    ).map(({ _id, ...members }) => ({
      id: String(_id),
      ...members,
    })) as never[];
  // Of the cron only what has ended: the next time may come at any moment.
  const groups = await mongo.log
    .collection('runs')
    .aggregate<{ _id: { fn: string; state: string }; count: number }>([
      { $match: { $or: [{ function: { $ne: 'tick' } }, { state: { $nin: ['waiting', 'running'] } }] } },
      { $group: { _id: { fn: '$function', state: '$state' }, count: { $sum: 1 } } },
    ])
    .toArray();
  const runs = Object.fromEntries(groups.map(({ _id: { fn, state }, count }) => [`${fn} ${state}`, count]));
  const [effects, counters, links, laters] = await Promise.all(['effects', 'counters', 'links', 'laters'].map(all));
  const ticks = await ticksOf(mongo);
  return {
    rows,
    acknowledged,
    effects: effects ?? [],
    counters: counters ?? [],
    links: links ?? [],
    laters: laters ?? [],
    ticks: ticks.effects,
    runs: { ...runs, 'tick ok': ticks.runs },
  };
}

/** What the cron has written, and how many runs of it have succeeded: both of one moment, because it goes on. */
async function ticksOf(mongo: Mongo): Promise<{ readonly effects: readonly { at: string }[]; readonly runs: number }> {
  const session = mongo.client.startSession({ snapshot: true });
  try {
    const effects = await mongo.data.collection<{ at: string }>('ticks').find({}, { session }).toArray();
    const done = { function: 'tick', state: 'ok' };
    const runs = await mongo.log
      .collection('runs')
      .find(done, { session, projection: { _id: 1 } })
      .toArray();
    return { effects: effects.map(({ at }) => ({ at })), runs: runs.length };
  } finally {
    await session.endSession();
  }
}
