/**
 * Policies with the most expensive patterns, tested on long texts: other requests proceed meanwhile, on every way to
 * one document. CPU time is measured, so that a busy machine changes nothing.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { longestHold } from '../../helpers/longest-hold.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { Random } from '../../helpers/random.ts';
import { ask, signUp } from '../../helpers/users.ts';

const LENGTH = 500_000;
/** To search that much at once takes 300 to 600 ms. */
const MOST_MS = 250;

const bitsOf = (byte: number): string => byte.toString(2).padStart(8, '0');

t.test('others get their turn while a policy is tested on a long text', async (t) => {
  const { app, services } = await buildTestApp(t);
  const ann = await signUp(app, 'ann');
  const all = { resources: ['posts'], actions: ['read', 'create', 'update', 'delete'] };
  const deny = { ...all, effect: 'deny', filter: { text: { $regex: '0.{70}2' } } };
  withPolicies(services, [all, deny, { ...all, fields: { read: ['*', '-secret'] } }]);
  const random = new Random(1);
  const text = (): string => Array.from(random.bytes(LENGTH / 8), bitsOf).join('');
  const ways: readonly (readonly [Parameters<typeof ask>[1], (() => object)?])[] = [
    ['POST /api/posts', () => ({ id: 'p1', text: text(), secret: 1 })],
    ['PUT /api/posts/p1', () => ({ text: text(), secret: 2 })],
    ['PATCH /api/posts/p1', () => ({ text: text() })],
    ['POST /api/posts', () => [text(), text()].map((one) => ({ text: one.slice(0, LENGTH / 2) }))],
    ['GET /api/posts/p1'],
    ['GET /api/posts?sort=secret&limit=2'],
    ['DELETE /api/posts/p1'],
  ];
  for (const [request, body] of ways) {
    const send = body?.();
    const longest = await longestHold(async () => {
      const response = await ask(app, request, send, ann);
      t.ok(response.statusCode < 300, `${request}: ${response.statusCode}`);
    });
    t.comment(`${request}: ${longest.toFixed()} ms`);
    t.ok(longest < MOST_MS, `${request} takes ${longest.toFixed()} ms in one go`);
  }
});
