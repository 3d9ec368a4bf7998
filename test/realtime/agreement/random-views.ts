/**
 * Random read policies in two forms: as an administrator writes them, and as a function that returns what they allow of
 * given documents to a user with these roles and claims.
 */
import type { Document } from 'mongodb';
import { passes } from '../../helpers/live/live-model.ts';
import type { Random } from '../../helpers/random.ts';

/** What policies read of a user. Each claim may be missing. */
export interface Rights {
  readonly roles: readonly string[];
  readonly claims: { readonly most?: number; readonly teams?: readonly number[] };
}

export interface RandomView {
  readonly policies: readonly object[];
  shows(documents: readonly Document[], rights: Rights): readonly Document[];
}

/** A condition as written, and its meaning for a user; null if the user lacks a value of it. */
interface Where {
  readonly written: object;
  readonly meant: (claims: Rights['claims']) => object | null;
}

/** Anonymous clients may do everything. */
const WRITERS = {
  resources: ['*'],
  actions: ['read', 'create', 'update', 'delete'],
  principals: { anonymous: true },
};
const ROLES = ['red', 'blue'] as const;

export function randomRights(random: Random): Rights {
  const most = random.once(4) ? {} : { most: random.below(6) };
  const teams = random.once(4) ? {} : { teams: [random.below(6), random.below(6)] };
  return { roles: ROLES.filter(() => random.once(2)), claims: { ...most, ...teams } };
}

/** What a signed-in user may read of a collection, in one of many ways; occasionally nothing. */
export function randomView(random: Random, collection: string): RandomView {
  const readers = { resources: [collection], actions: ['read'] };
  const plain: object[] = [
    {},
    { n: { $lt: random.below(6) } },
    { n: { $gte: random.below(4) } },
    { s: 'a' },
    { tags: 'b' },
    { v: { $ne: null } },
    { d: { $lt: { $date: '2024-02-01T00:00:00.000Z' } } },
    { 'o.x': { $exists: true } },
    { "['x.y']['$z']": { $exists: false } },
  ];
  const wheres: Where[] = [
    ...plain.map((written) => ({ written, meant: () => written })),
    ...[OWN_MOST, OWN_TEAMS].flatMap((where) => [where, where, where]),
  ];
  const count = random.once(10) ? 0 : 1 + Number(random.once(3));
  const grants = Array.from({ length: count }, () => ({
    where: random.pick(wheres),
    hides: random.once(3),
    role: random.once(3) ? random.pick(ROLES) : null,
  }));
  const denied = random.once(3) ? random.pick([OWN_MOST, numbered(random.below(6)), numbered(random.below(6))]) : null;
  const about = (role: string | null) => ({ principals: role === null ? { authenticated: true } : { roles: [role] } });

  const shows = (documents: readonly Document[], { roles, claims }: Rights): readonly Document[] => {
    const granted = grants.flatMap(({ where, hides, role }) => {
      const meant = role === null || roles.includes(role) ? where.meant(claims) : null;
      return meant === null ? [] : [{ match: passes(meant), hides }];
    });
    // A deny that lacks a value denies everything.
    const denies = denied?.meant(claims) ?? null;
    const isDenied = denied === null ? () => false : denies === null ? () => true : passes(denies);
    return documents.flatMap((document) => {
      const reaching = granted.filter(({ match }) => match(document));
      if (reaching.length === 0 || isDenied(document)) return [];
      if (reaching.some(({ hides }) => !hides)) return [document];
      const { v: _, ...shown } = document;
      return [shown];
    });
  };
  return {
    policies: [
      ...grants.map(({ where, hides, role }) => ({
        ...readers,
        ...about(role),
        filter: where.written,
        ...(hides ? { fields: { read: ['*', '-v'] } } : {}),
      })),
      ...(denied === null ? [] : [{ ...readers, ...about(null), effect: 'deny', filter: denied.written }]),
      WRITERS,
    ],
    shows,
  };
}

const OWN_MOST: Where = {
  written: { n: { $lt: '$user.claims.most' } },
  meant: ({ most }) => (most === undefined ? null : { n: { $lt: most } }),
};
const OWN_TEAMS: Where = {
  written: { n: '$user.claims.teams' },
  meant: ({ teams }) => (teams === undefined ? null : { n: { $in: teams } }),
};
const numbered = (n: number): Where => ({ written: { n }, meant: () => ({ n }) });
