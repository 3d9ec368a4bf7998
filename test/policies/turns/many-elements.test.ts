/**
 * Policies with many conditions, asked of long arrays and of many documents: others get their turn meanwhile. CPU time is
 * measured, so that a busy machine changes nothing.
 */
import t from 'tap';
import { ask, signUp } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { longestHold } from '../../helpers/longest-hold.ts';
import { withPolicies } from '../../helpers/policies.ts';

t.setTimeout(120_000);

/** As many as a policy may have. */
const CONDITIONS = 190;
const MANY = Array.from({ length: CONDITIONS }, (_, n) => ({ tags: { $icontains: `q${n}` } }));
const POLICY = { collections: ['posts'], actions: ['read', 'create', 'update', 'delete'] };
/** A deny that matches nothing, and members that differ between documents: each document is asked all of it. */
const POLICIES = [
  { ...POLICY, fields: { read: ['*', '-hidden'] } },
  { ...POLICY, effect: 'deny', where: { $or: MANY } },
  { ...POLICY, where: { secret: 1 }, fields: { read: ['*', '-secret'] } },
];

t.test('others get their turn while a policy is asked of an array of 20,000 texts', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const ann = await signUp(app, 'ann');
  withPolicies(parts, POLICIES);
  const tags = Array.from({ length: 20_000 }, (_, n) => `t${n % 1_000}`);
  t.equal((await ask(app, 'POST /api/posts', { id: 'p1', tags }, ann)).statusCode, 201);
  for (const request of ['GET /api/posts/p1', 'GET /api/posts', 'GET /api/posts?limit=1'] as const) {
    const longest = await longestHold(async () => {
      const answer = await ask(app, request, undefined, ann);
      t.equal(answer.statusCode, 200, request);
    });
    t.comment(`${request}: ${longest.toFixed()} ms`);
    t.ok(longest < 150, `${request} takes ${longest.toFixed()} ms in one go`);
  }
});

t.test('others get their turn while a policy is asked of 4,000 documents', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const ann = await signUp(app, 'ann');
  withPolicies(parts, POLICIES);
  const documents = Array.from({ length: 4_000 }, () => ({ tags: Array(8).fill('a text') }));
  await parts.mongo.data.collection('posts').insertMany(documents);
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
