/** The action `get`: one file may be read by its id. It allows no lists, no events and no other access. */
import type { FastifyInstance } from 'fastify';
import t from 'tap';
import { ANONYMOUS } from '../../src/auth/identity/principal.ts';
import { parsePolicy } from '../../src/policies/policy.ts';
import { toPolicySet } from '../../src/policies/policy-set.ts';
import { ask, signUp } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { uploadOne } from '../helpers/files/upload.ts';
import { withPolicies } from '../helpers/policies.ts';

const GET = { collections: ['files'], actions: ['get'] };
const READ = { collections: ['files'], actions: ['read'] };

/** The status of each route about files, for anonymous clients or for `as`. */
async function reached(app: FastifyInstance, id: string, as?: Awaited<ReturnType<typeof signUp>>) {
  const status = async (request: Parameters<typeof ask>[1]) => (await ask(app, request, undefined, as)).statusCode;
  return {
    one: await status(`GET /files/${id}`),
    bytes: await status(`GET /files/${id}/a.txt`),
    sign: await status(`POST /files/${id}/sign`),
    list: await status('GET /files'),
    remove: await status(`DELETE /files/${'0'.repeat(24)}`),
  };
}

t.test('get', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const { id } = await uploadOne(app, { name: 'a.txt', bytes: 'x' });
  const { id: other } = await uploadOne(app, { name: 'b.txt', bytes: 'y' });
  const ann = await signUp(app, 'ann');

  withPolicies(parts, [GET]);
  const alone = { one: 200, bytes: 200, sign: 200, list: 401, remove: 401 };
  t.strictSame(await reached(app, id), alone);
  t.strictSame(await reached(app, id, ann), { ...alone, list: 403, remove: 403 });

  withPolicies(parts, [READ]);
  t.strictSame(await reached(app, id), { ...alone, list: 200 }, 'read contains it');

  withPolicies(parts, [{ ...GET, where: { name: 'a.txt' }, fields: { read: ['type'] } }]);
  t.strictSame(await reached(app, id), alone);
  t.strictSame(await reached(app, other), { ...alone, one: 404, bytes: 404, sign: 404 }, 'where says which');
  const seen = (await ask(app, `GET /files/${id}`)).json();
  t.strictSame(Object.keys(seen).sort(), ['id', 'type', 'url'], 'and fields what of it');

  withPolicies(parts, [GET, { ...READ, effect: 'deny', where: { name: 'a.txt' } }]);
  t.match(await reached(app, id), { one: 404, bytes: 404, sign: 404 }, 'a deny of read takes it');

  withPolicies(parts, [{ collections: ['files'], actions: ['create', 'get'] }]);
  const made = await uploadOne(app, { name: 'c.txt', bytes: 'z' });
  t.equal(made.name, 'c.txt', 'an upload is answered with what its maker may get');
  t.equal(parts.policies.readable(ANONYMOUS).places.includes('files'), false, 'events tell nothing');
});

t.test('a trial of policies can ask for get', async (t) => {
  const { app, parts } = await buildTestApp(t);
  withPolicies(parts, [
    GET,
    { collections: ['*', 'admin'], actions: ['read', 'create', 'update'], mode: 'development' },
  ]);
  for (const [action, collection, verdict] of [
    ['get', 'files', 'allow'],
    ['read', 'files', 'deny'],
    ['get', 'posts', 'allow'],
  ]) {
    const question = { principal: { kind: 'anonymous' }, action, collection };
    const answer = await ask(app, 'POST /admin/policies/test', question);
    t.match(answer.json(), { verdict }, `${action} ${collection}`);
  }
});

t.test('get is for files alone', async (t) => {
  for (const collections of [['posts'], ['*'], ['files', 'posts']]) {
    const policy = { name: 'p', effect: 'allow', collections, actions: ['get'] } as const;
    t.throws(() => toPolicySet([{ id: 'p', policy: { ...policy, actions: ['get'] } }]), { code: 'invalid-policy' });
  }
  t.strictSame([...parsePolicy('p', { name: 'p', effect: 'allow', ...READ }).actions], ['read', 'get']);
});
