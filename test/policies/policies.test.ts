/**
 * Scopes from policies in memory: the grants of each principal, cached while they are valid, shared where they are
 * equal.
 */
import t from 'tap';
import { ANONYMOUS, type Principal, RESOURCE_ACTIONS } from '../../src/auth/identity/principal.ts';
import { parseCollectionName } from '../../src/database/parse-collection-name.ts';
import { Policies } from '../../src/policies/policies.ts';
import { toPolicySet } from '../../src/policies/policy-set.ts';
import type { Resource } from '../../src/policies/scope.ts';
import { isInScope, toDatabaseFilter } from '../../src/policies/scope-filter.ts';
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

t.test('what each principal can do', async (t) => {
  const policies = policiesOf([
    { resources: ['posts'], actions: ['read'], principals: { anonymous: true } },
    { resources: ['*'], actions: ['read', 'create'], principals: { authenticated: true } },
    { resources: ['posts'], actions: ['update'], principals: { roles: ['author'] } },
    { resources: ['posts'], actions: ['delete'], principals: { users: ['ann'] } },
    { resources: ['posts'], actions: ['delete'], principals: { keys: ['k'] } },
    { resources: ['_functions'], actions: ['call'], principals: { authenticated: true } },
    { resources: ['_webhooks'], actions: ['read', 'create'], principals: { keys: ['hooks'] } },
    { resources: ['notes'], actions: ['read'], principals: { roles: ['banned'] }, effect: 'deny' },
  ]);
  const PLACES: readonly Resource[] = [
    posts,
    notes,
    '_files',
    '_functions',
    '_webhooks',
    '_events',
    '_admin',
    '_admin:accounts',
  ];
  const grid: readonly (readonly [string, Principal, readonly string[]])[] = [
    ['anonymous', ANONYMOUS, ['posts read']],
    ['a user', user('bob'), ['posts read', 'posts create', 'notes read', 'notes create', '_functions call']],
    [
      'an author',
      user('x', ['author', 'banned']),
      ['posts read', 'posts create', 'posts update', 'notes create', '_functions call'],
    ],
    [
      'one user',
      user('ann'),
      ['posts read', 'posts create', 'posts delete', 'notes read', 'notes create', '_functions call'],
    ],
    ['a key', key('k', { actions: ['read', 'delete'] }), ['posts read', 'posts delete', 'notes read']],
    ['a narrow key', key('k', { resources: ['posts'] }), ['posts read', 'posts create', 'posts delete']],
    [
      'a key that is named like a user',
      key('ann'),
      ['posts read', 'posts create', 'notes read', 'notes create', '_functions call'],
    ],
    ['a key for webhooks', key('hooks', { resources: ['_webhooks'] }), ['_webhooks read', '_webhooks create']],
    [
      'a function that is named like a user',
      acting('ann'),
      ['posts read', 'posts create', 'notes read', 'notes create', '_functions call'],
    ],
    [
      'a function with roles',
      acting('shop/total', 'author', 'banned'),
      ['posts read', 'posts create', 'posts update', 'notes create', '_functions call'],
    ],
    [
      'a viewer',
      owner('viewer'),
      PLACES.filter((resource) => resource !== '_admin:accounts').map((resource) => `${resource} read`),
    ],
    ['a developer', owner('developer'), all(PLACES.filter((resource) => resource !== '_admin:accounts'))],
    ['an admin', owner('manager'), all(PLACES)],
    ['an administrator', owner(), all(PLACES)],
  ];
  for (const [who, principal, expected] of grid) {
    const granted = all(PLACES).filter((query) => {
      const resource = PLACES.find((one) => query.startsWith(`${one} `));
      const action = RESOURCE_ACTIONS.find((one) => query.endsWith(` ${one}`));
      return resource !== undefined && action !== undefined && policies.find(principal, action, resource) !== null;
    });
    t.strictSame(granted, expected, who);
  }

  function all(spots: readonly string[]): string[] {
    return spots.flatMap((resource) => RESOURCE_ACTIONS.map((action) => `${resource} ${action}`));
  }
});

t.test('a user, key or function with a role named like one of administrators is no administrator', async (t) => {
  const policies = policiesOf([]);
  for (const role of ['owner', 'manager', 'developer', 'viewer']) {
    for (const principal of [user('u', [role], { kind: 'admin' }), key('k', { roles: [role] }), acting('p/f', role)]) {
      for (const resource of [posts, '_files', '_events', '_admin', '_admin:accounts'] as const) {
        for (const action of RESOURCE_ACTIONS)
          t.equal(policies.find(principal, action, resource), null, `${role} ${action} ${resource}`);
      }
    }
  }
});

t.test('decisions are cached, and shared where they do not differ', async (t) => {
  const policies = policiesOf([
    { resources: ['posts'], actions: ['read'], filter: { public: true } },
    { resources: ['notes'], actions: ['read'], filter: { owner: '$user.id' } },
  ]);
  const [ann, bob] = [user('ann'), user('bob')];
  const scope = policies.scope(ann, 'read', posts);
  t.equal(policies.scope(ann, 'read', posts), scope);
  t.equal(policies.scope(bob, 'read', posts).grants, scope.grants, 'nothing of it is about the user');
  t.equal(toDatabaseFilter(policies.scope(bob, 'read', posts)), toDatabaseFilter(scope));
  t.not(policies.scope(bob, 'read', notes).grants, policies.scope(ann, 'read', notes).grants);
  t.strictSame(toDatabaseFilter(policies.scope(bob, 'read', notes)), { owner: { $eq: 'bob' } });
  policies.use(
    toPolicySet([{ id: 'p', policy: { name: 'p', effect: 'allow', resources: ['posts'], actions: ['read'] } }]),
  );
  t.not(policies.scope(ann, 'read', posts).grants, scope.grants);
  t.equal(policies.find(ann, 'read', notes), null);
});

t.test('a time that a policy names moves on', async (t) => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const policies = policiesOf(
    [{ resources: ['posts'], actions: ['read', 'update'], filter: { until: { $gt: '$now' } } }],
    () => new Date(now),
  );
  const document = { until: new Date(now + MINUTE) };
  const scope = policies.scope(ANONYMOUS, 'update', posts);
  t.ok(isInScope(scope, document));
  t.ok(scope.until !== null && scope.until <= now + 1_000);
  now += 2 * MINUTE;
  t.notOk(isInScope(policies.scope(ANONYMOUS, 'update', posts), document));
});

t.test('without policies only administrators are admitted, and all others get an error', async (t) => {
  const policies = policiesOf([{ resources: ['*'], actions: ['read'] }]);
  let reported = 0;
  const end = policies.onChange(() => {
    reported += 1;
  });
  policies.close();
  policies.close();
  t.equal(reported, 1);
  t.throws(() => policies.find(ANONYMOUS, 'read', posts), { code: 'policies-unavailable' });
  t.ok(policies.find(owner('viewer'), 'read', posts));
  end();
  policies.use(toPolicySet([]));
  t.equal(reported, 1);
  t.throws(() => policies.scope(ANONYMOUS, 'read', posts), { code: 'not-authenticated' });
  t.throws(() => policies.scope(user('ann'), 'read', posts), { code: 'forbidden' });
});
