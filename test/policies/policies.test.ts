/** Scopes from policies in memory: who is granted what, kept for as long as it holds, shared where it is the same. */
import t from 'tap';
import { ACTIONS, ANONYMOUS, type Principal } from '../../src/auth/identity/principal.ts';
import { parseCollectionName } from '../../src/database/names.ts';
import { Policies } from '../../src/policies/policies.ts';
import { toPolicySet } from '../../src/policies/policy-set.ts';
import { reaches, toDatabaseFilter } from '../../src/policies/reach.ts';
import type { Place } from '../../src/policies/scope.ts';
import { acting, key, owner, user } from '../helpers/principals.ts';

const [posts, notes] = [parseCollectionName('posts'), parseCollectionName('notes')];
const MINUTE = 60_000;

function policiesOf(written: readonly object[], now = () => new Date()): Policies {
  const policies = new Policies('production', now);
  const all = written.map((policy, index) => ({
    id: `p${index}`,
    policy: { name: `p${index}`, effect: 'allow', ...policy },
  }));
  policies.use(toPolicySet(all));
  return policies;
}

t.test('who may do what where', async (t) => {
  const policies = policiesOf([
    { collections: ['posts'], actions: ['read'], principals: { anonymous: true } },
    { collections: ['*'], actions: ['read', 'create'], principals: { authenticated: true } },
    { collections: ['posts'], actions: ['update'], principals: { roles: ['author'] } },
    { collections: ['posts'], actions: ['delete'], principals: { users: ['ann'] } },
    { collections: ['posts'], actions: ['delete'], principals: { keys: ['k'] } },
    { collections: ['functions'], actions: ['call'], principals: { authenticated: true } },
    { collections: ['webhooks'], actions: ['read', 'create'], principals: { keys: ['hooks'] } },
    { collections: ['notes'], actions: ['read'], principals: { roles: ['banned'] }, effect: 'deny' },
  ]);
  const PLACES: readonly Place[] = [
    posts,
    notes,
    'files',
    'functions',
    'webhooks',
    'events',
    'admin',
    'admin:accounts',
  ];
  const grid: readonly (readonly [string, Principal, readonly string[]])[] = [
    ['anonymous', ANONYMOUS, ['posts read']],
    ['a user', user('bob'), ['posts read', 'posts create', 'notes read', 'notes create', 'functions call']],
    [
      'an author',
      user('x', ['author', 'banned']),
      ['posts read', 'posts create', 'posts update', 'notes create', 'functions call'],
    ],
    [
      'one user',
      user('ann'),
      ['posts read', 'posts create', 'posts delete', 'notes read', 'notes create', 'functions call'],
    ],
    ['a key', key('k', { actions: ['read', 'delete'] }), ['posts read', 'posts delete', 'notes read']],
    ['a narrow key', key('k', { collections: ['posts'] }), ['posts read', 'posts create', 'posts delete']],
    [
      'a key that is named like a user',
      key('ann'),
      ['posts read', 'posts create', 'notes read', 'notes create', 'functions call'],
    ],
    ['a key for webhooks', key('hooks', { collections: ['webhooks'] }), ['webhooks read', 'webhooks create']],
    [
      'a function that is named like a user',
      acting('ann'),
      ['posts read', 'posts create', 'notes read', 'notes create', 'functions call'],
    ],
    [
      'a function with roles',
      acting('shop/total', 'author', 'banned'),
      ['posts read', 'posts create', 'posts update', 'notes create', 'functions call'],
    ],
    ['a viewer', owner('viewer'), PLACES.filter((place) => place !== 'admin:accounts').map((place) => `${place} read`)],
    ['a developer', owner('developer'), all(PLACES.filter((place) => place !== 'admin:accounts'))],
    ['an admin', owner('admin'), all(PLACES)],
    ['an owner', owner(), all(PLACES)],
  ];
  for (const [who, principal, expected] of grid) {
    const granted = all(PLACES).filter((question) => {
      const place = PLACES.find((one) => question.startsWith(`${one} `));
      const action = ACTIONS.find((one) => question.endsWith(` ${one}`));
      return place !== undefined && action !== undefined && policies.find(principal, action, place) !== null;
    });
    t.strictSame(granted, expected, who);
  }

  function all(places: readonly string[]): string[] {
    return places.flatMap((place) => ACTIONS.map((action) => `${place} ${action}`));
  }
});

t.test('a user, key or function with a role named like one of owners is no owner', async (t) => {
  const policies = policiesOf([]);
  for (const role of ['owner', 'admin', 'developer', 'viewer']) {
    for (const principal of [user('u', [role], { kind: 'owner' }), key('k', { roles: [role] }), acting('p/f', role)]) {
      for (const place of [posts, 'files', 'events', 'admin', 'admin:accounts'] as const) {
        for (const action of ACTIONS)
          t.equal(policies.find(principal, action, place), null, `${role} ${action} ${place}`);
      }
    }
  }
});

t.test('answers are kept, and shared where they do not differ', async (t) => {
  const policies = policiesOf([
    { collections: ['posts'], actions: ['read'], where: { public: true } },
    { collections: ['notes'], actions: ['read'], where: { owner: '$user.id' } },
  ]);
  const [ann, bob] = [user('ann'), user('bob')];
  const scope = policies.scope(ann, 'read', posts);
  t.equal(policies.scope(ann, 'read', posts), scope);
  t.equal(policies.scope(bob, 'read', posts).grants, scope.grants, 'nothing of it is about the user');
  t.equal(toDatabaseFilter(policies.scope(bob, 'read', posts)), toDatabaseFilter(scope));
  t.not(policies.scope(bob, 'read', notes).grants, policies.scope(ann, 'read', notes).grants);
  t.strictSame(toDatabaseFilter(policies.scope(bob, 'read', notes)), { owner: { $eq: 'bob' } });
  policies.use(
    toPolicySet([{ id: 'p', policy: { name: 'p', effect: 'allow', collections: ['posts'], actions: ['read'] } }]),
  );
  t.not(policies.scope(ann, 'read', posts).grants, scope.grants);
  t.equal(policies.find(ann, 'read', notes), null);
});

t.test('a time that a policy names goes on', async (t) => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const policies = policiesOf(
    [{ collections: ['posts'], actions: ['read', 'update'], where: { until: { $gt: '$now' } } }],
    () => new Date(now),
  );
  const document = { until: new Date(now + MINUTE) };
  const scope = policies.scope(ANONYMOUS, 'update', posts);
  t.ok(reaches(scope, document));
  t.ok(scope.until !== null && scope.until <= now + 1_000);
  now += 2 * MINUTE;
  t.notOk(reaches(policies.scope(ANONYMOUS, 'update', posts), document));
});

t.test('without policies nobody passes but owners, and everybody is told', async (t) => {
  const policies = policiesOf([{ collections: ['*'], actions: ['read'] }]);
  let told = 0;
  const end = policies.onChange(() => {
    told += 1;
  });
  policies.close();
  policies.close();
  t.equal(told, 1);
  t.throws(() => policies.find(ANONYMOUS, 'read', posts), { code: 'policies-unavailable' });
  t.ok(policies.find(owner('viewer'), 'read', posts));
  end();
  policies.use(toPolicySet([]));
  t.equal(told, 1);
  t.throws(() => policies.scope(ANONYMOUS, 'read', posts), { code: 'not-authenticated' });
  t.throws(() => policies.scope(user('ann'), 'read', posts), { code: 'forbidden' });
});
