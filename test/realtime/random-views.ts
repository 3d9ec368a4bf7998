/** Random policies of reading in their two faces: as an owner writes them, and what they show of documents in hand. */
import type { Document } from 'mongodb';
import { passes } from '../helpers/live-model.ts';
import type { Random } from '../helpers/random.ts';

export interface RandomView {
  readonly policies: readonly object[];
  shows(documents: readonly Document[]): readonly Document[];
}

/** Everybody who has not signed in may do everything. */
const WRITERS = {
  collections: ['*'],
  actions: ['read', 'create', 'update', 'delete'],
  principals: { anonymous: true },
};
const READERS = { collections: ['*'], actions: ['read'], principals: { authenticated: true } };

/** What who has signed in may read, in one of many ways; now and then nothing. */
export function randomView(random: Random): RandomView {
  const wheres: object[] = [
    {},
    { n: { $lt: random.below(6) } },
    { n: { $gte: random.below(4) } },
    { s: 'a' },
    { tags: 'b' },
    { v: { $ne: null } },
    { d: { $lt: { $date: '2024-02-01T00:00:00.000Z' } } },
    { 'o.x': { $exists: true } },
  ];
  const count = random.once(10) ? 0 : 1 + Number(random.once(3));
  const grants = Array.from({ length: count }, () => ({ where: random.pick(wheres), hides: random.once(3) }));
  const denied = random.once(3) ? { n: random.below(6) } : null;

  const granted = grants.map(({ where, hides }) => ({ match: passes(where), hides }));
  const isDenied = denied === null ? () => false : passes(denied);
  const shows = (document: Document): readonly Document[] => {
    const reaching = granted.filter(({ match }) => match(document));
    if (reaching.length === 0 || isDenied(document)) return [];
    if (reaching.some(({ hides }) => !hides)) return [document];
    const { v: _, ...shown } = document;
    return [shown];
  };
  return {
    policies: [
      ...grants.map(({ where, hides }) => ({ ...READERS, where, ...(hides ? { fields: { read: ['*', '-v'] } } : {}) })),
      ...(denied === null ? [] : [{ ...READERS, effect: 'deny', where: denied }]),
      WRITERS,
    ],
    shows: (documents) => documents.flatMap(shows),
  };
}
