/** The worked examples of docs/policies.md: saved, compared with their verdicts, and used by requests. */
import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { beOwned } from '../helpers/policies.ts';
import { owner, speakingAs, user } from '../helpers/principals.ts';

const PAGE = readFileSync(new URL('../../docs/policies.md', import.meta.url), 'utf8');

/** The policies and the expected verdicts of one example. */
function example(title: string): { readonly policies: object[]; readonly check: { readonly cases: object[] } } {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`Example: ${title}`));
  const [policies, check] = [...(section ?? '').matchAll(/```json\n(.*?)```/gs)].map(([, json = '']) =>
    JSON.parse(json),
  );
  return { policies, check };
}

async function fixture(t: Test, title: string) {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  await beOwned(services);
  const as = speakingAs(services);
  const boss = as(owner());
  const request = async (who: Record<string, string>, request: string, send?: object) => {
    const [verb = '', url = ''] = request.split(' ');
    const method = (['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const).find((one) => one === verb) ?? 'GET';
    const response = await app.inject({ method, url, headers: who, ...(send === undefined ? {} : { payload: send }) });
    const json = response.body === '' ? null : response.json();
    return { status: response.statusCode, json, code: json?.code };
  };
  const { policies, check } = example(title);
  for (const policy of policies) t.equal((await request(boss, 'POST /admin/policies', policy)).status, 201);
  const { passed, failed } = (await request(boss, 'POST /admin/policies/check', check)).json;
  t.strictSame(failed, []);
  t.equal(passed, check.cases.length);
  return { as, boss, request };
}

t.test('the example of a blog', async (t) => {
  const { as, boss, request } = await fixture(t, 'a blog');
  const [ann, eve] = [as(user('ann', ['author'])), as(user('eve', ['editor']))];
  const created = await request(ann, 'POST /api/posts', { title: 'Draft', authorId: 'bob', notes: 'n' });
  t.match(created, { status: 201, json: { authorId: 'ann', notes: 'n' } });
  const url = `/api/posts/${created.json.id}`;
  t.equal((await request({}, `GET ${url}`)).status, 404);
  t.strictSame((await request({}, 'GET /api/posts')).json, []);
  t.equal((await request(eve, `PATCH ${url}`, { published: true })).status, 200);
  t.equal((await request(eve, `PATCH ${url}`, { authorId: 'eve' })).code, 'field-not-writable');
  const [post] = (await request({}, 'GET /api/posts')).json;
  t.strictSame(Object.keys(post), ['id', 'title', 'authorId', 'published', '_meta']);
  t.equal((await request({}, 'GET /api/posts?notes=n')).code, 'field-hidden');
  t.equal((await request(eve, `DELETE ${url}`)).code, 'forbidden');
  t.equal((await request(ann, `DELETE ${url}`)).status, 204);
  t.equal((await request(boss, 'GET /api/posts')).json.length, 0);
});

t.test('the example of a to-do list for many tenants', async (t) => {
  const { as, boss, request } = await fixture(t, 'a to-do list');
  const [ann, bob] = ['t1', 't2'].map((tenant) => as(user(tenant, ['member'], { tenant })));
  if (ann === undefined || bob === undefined) throw new Error('There are two');
  const { id, tenant } = (await request(ann, 'POST /api/todos', { text: 'a', tenant: 't2' })).json;
  t.equal(tenant, 't1');
  await request(bob, 'POST /api/todos', { text: 'b' });
  t.match((await request(ann, 'GET /api/todos')).json, [{ text: 'a' }]);
  t.equal((await request(bob, `GET /api/todos/${id}`)).status, 404);
  t.equal((await request(bob, `PUT /api/todos/${id}`, { text: 'mine' })).status, 404);
  t.equal(
    (await request(ann, `PATCH /api/todos/${id}`, { locked: true })).code,
    'forbidden',
    'a deny holds after it, too',
  );
  await request(boss, `PATCH /api/todos/${id}`, { locked: true });
  t.equal((await request(ann, `DELETE /api/todos/${id}`)).code, 'forbidden');
  t.equal((await request(as(user('x', ['member'])), 'GET /api/todos')).status, 403);
});

t.test('the example of public documents with private fields', async (t) => {
  const { as, boss, request } = await fixture(t, 'public documents');
  const people = ['ann', 'bob'].map((id) => ({ id, name: id, email: `${id}@x`, address: { city: 'C', street: id } }));
  await request(boss, 'POST /api/people', people);
  const [ann, support] = [as(user('ann')), as(user('sue', ['support']))];
  t.notMatch(JSON.stringify((await request({}, 'GET /api/people')).json), /email|street/);
  const [self, other] = (await request(ann, 'GET /api/people')).json;
  t.match(self, { email: 'ann@x', address: { street: 'ann' } });
  t.strictSame(other.address, { city: 'C' });
  t.equal((await request(ann, 'GET /api/people?email=bob@x')).code, 'field-hidden');
  t.equal((await request(support, 'GET /api/people?email=bob@x')).json.length, 1);
  t.match((await request(ann, 'PATCH /api/people/ann', { email: 'new@x' })).json, { email: 'new@x' });
  t.equal((await request(ann, 'PATCH /api/people/ann', { verified: true })).code, 'field-not-writable');
  t.equal((await request(ann, 'PATCH /api/people/bob', { name: 'x' })).code, 'forbidden');
});
