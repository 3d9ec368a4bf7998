/**
 * Policies with many conditions, tested on long arrays and many documents: other requests proceed meanwhile. CPU time
 * is measured, so that a busy machine changes nothing.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { longestHold } from '../../helpers/longest-hold.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { ask, signUp } from '../../helpers/users.ts';

t.setTimeout(120_000);

/** As many as a policy may have. */
const CONDITIONS = 190;
const MANY = Array.from({ length: CONDITIONS }, (_, n) => ({ tags: { $icontains: `q${n}` } }));
const POLICY = { resources: ['posts'], actions: ['read', 'create', 'update', 'delete'] };
/** A deny that matches nothing, and fields that differ between documents: each document is tested completely. */
const POLICIES = [
  { ...POLICY, fields: { read: ['*', '-hidden'] } },
  { ...POLICY, effect: 'deny', filter: { $or: MANY } },
  { ...POLICY, filter: { secret: 1 }, fields: { read: ['*', '-secret'] } },
];

t.test('others get their turn while a policy is tested on an array of 20,000 texts', async (t) => {
  const { app, services } = await buildTestApp(t);
  const ann = await signUp(app, 'ann');
  withPolicies(services, POLICIES);
  const tags = Array.from({ length: 20_000 }, (_, n) => `t${n % 1_000}`);
  t.equal((await ask(app, 'POST /api/posts', { id: 'p1', tags }, ann)).statusCode, 201);
  for (const request of ['GET /api/posts/p1', 'GET /api/posts', 'GET /api/posts?limit=1'] as const) {
    const longest = await longestHold(async () => {
      const response = await ask(app, request, undefined, ann);
      t.equal(response.statusCode, 200, request);
    });
    t.comment(`${request}: ${longest.toFixed()} ms`);
    t.ok(longest < 150, `${request} takes ${longest.toFixed()} ms in one go`);
  }
});

t.test('others get their turn while a policy is tested on 4,000 documents', async (t) => {
  const { app, services } = await buildTestApp(t);
  const ann = await signUp(app, 'ann');
  withPolicies(services, POLICIES);
  const documents = Array.from({ length: 4_000 }, () => ({ tags: Array(8).fill('a text') }));
  await services.mongo.data.collection('posts').insertMany(documents);
  const listed = async (): Promise<number> => {
    let body = '';
    const longest = await longestHold(async () => {
      ({ body } = await ask(app, 'GET /api/posts', undefined, ann));
    });
    t.equal((JSON.parse(body) as unknown[]).length, documents.length);
    return longest;
  };
  const [first, longest] = [await listed(), await listed()];
  t.comment(`${first.toFixed()} ms, then ${longest.toFixed()} ms`);
  t.ok(longest < 150, `it takes ${longest.toFixed()} ms in one go`);
});
