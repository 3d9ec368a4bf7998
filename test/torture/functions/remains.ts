/** What the torture test of functions leaves in the database, as input of the checker. */
import type { Mongo } from '../../../src/database/mongo.ts';
import type { Remains, RowLine } from './checker.ts';

/**
 * @param rows the changes that match the trigger
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
    ).map(({ _id, ...fields }) => ({
      id: String(_id),
      ...fields,
    })) as never[];
  // Of the cron job only ended runs: the next one may come at any moment.
  const groups = await mongo.log
    .collection('runs')
    .aggregate<{ _id: { fn: string; state: string }; count: number }>([
      { $match: { $or: [{ function: { $ne: 'tick' } }, { state: { $nin: ['pending', 'running'] } }] } },
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
    runs: { ...runs, 'tick succeeded': ticks.runs },
  };
}

/** What the cron job has written, and how many of its runs have succeeded: both at one time, because it continues. */
async function ticksOf(mongo: Mongo): Promise<{ readonly effects: readonly { at: string }[]; readonly runs: number }> {
  const session = mongo.client.startSession({ snapshot: true });
  try {
    const effects = await mongo.data.collection<{ at: string }>('ticks').find({}, { session }).toArray();
    const done = { function: 'tick', state: 'succeeded' };
    const runs = await mongo.log
      .collection('runs')
      .find(done, { session, projection: { _id: 1 } })
      .toArray();
    return { effects: effects.map(({ at }) => ({ at })), runs: runs.length };
  } finally {
    await session.endSession();
  }
}
