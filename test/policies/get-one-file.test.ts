/** The action `get`: one file may be read by its id. It allows no lists, no events and no other access. */
import type { FastifyInstance } from 'fastify';
import t from 'tap';
import { ANONYMOUS } from '../../src/auth/identity/principal.ts';
import { parsePolicy } from '../../src/policies/policy.ts';
import { toPolicySet } from '../../src/policies/policy-set.ts';
import { buildTestApp } from '../helpers/app.ts';
import { uploadOne } from '../helpers/files/upload.ts';
import { withPolicies } from '../helpers/policies.ts';
import { ask, signUp } from '../helpers/users.ts';

const GET = { resources: ['_files'], actions: ['get'] };
const READ = { resources: ['_files'], actions: ['read'] };

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

t.test('the action get', async (t) => {
  const { app, services } = await buildTestApp(t);
  const { id } = await uploadOne(app, { name: 'a.txt', bytes: 'x' });
  const { id: other } = await uploadOne(app, { name: 'b.txt', bytes: 'y' });
  const ann = await signUp(app, 'ann');

  withPolicies(services, [GET]);
  const alone = { one: 200, bytes: 200, sign: 200, list: 401, remove: 401 };
  t.strictSame(await reached(app, id), alone);
  t.strictSame(await reached(app, id, ann), { ...alone, list: 403, remove: 403 });

  withPolicies(services, [READ]);
  t.strictSame(await reached(app, id), { ...alone, list: 200 }, 'read contains it');

  withPolicies(services, [{ ...GET, filter: { name: 'a.txt' }, fields: { read: ['type'] } }]);
  t.strictSame(await reached(app, id), alone);
  t.strictSame(await reached(app, other), { ...alone, one: 404, bytes: 404, sign: 404 }, 'where says which');
  const seen = (await ask(app, `GET /files/${id}`)).json();
  t.strictSame(Object.keys(seen).sort(), ['id', 'type', 'url'], 'and fields what of it');

  withPolicies(services, [GET, { ...READ, effect: 'deny', filter: { name: 'a.txt' } }]);
  t.match(await reached(app, id), { one: 404, bytes: 404, sign: 404 }, 'a deny of read takes it');

  withPolicies(services, [{ resources: ['_files'], actions: ['create', 'get'] }]);
  const created = await uploadOne(app, { name: 'c.txt', bytes: 'z' });
  t.equal(created.name, 'c.txt', 'an upload is answered with what its maker may get');
  t.equal(services.policies.readable(ANONYMOUS).resources.includes('_files'), false, 'events tell nothing');
});

t.test('a policy simulation supports the action get', async (t) => {
  const { app, services } = await buildTestApp(t);
  withPolicies(services, [
    GET,
    { resources: ['*', '_admin'], actions: ['read', 'create', 'update'], mode: 'development' },
  ]);
  for (const [action, resource, decision] of [
    ['get', '_files', 'allow'],
    ['read', '_files', 'deny'],
    ['get', 'posts', 'allow'],
  ]) {
    const query = { principal: { kind: 'anonymous' }, action, resource };
    const response = await ask(app, 'POST /admin/policies/test', query);
    t.match(response.json(), { decision }, `${action} ${resource}`);
  }
});

t.test('the action get is for files only', async (t) => {
  for (const collections of [['posts'], ['*'], ['_files', 'posts']]) {
    const policy = { name: 'p', effect: 'allow', resources: collections, actions: ['get'] } as const;
    t.throws(() => toPolicySet([{ id: 'p', policy: { ...policy, actions: ['get'] } }]), { code: 'invalid-policy' });
  }
  t.strictSame([...parsePolicy('p', { name: 'p', effect: 'allow', ...READ }).actions], ['read', 'get']);
});
