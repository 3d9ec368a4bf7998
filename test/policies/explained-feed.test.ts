/** Explaining the decisions of a request costs no more than the request, however many decisions it takes. */
import t from 'tap';
import { postsFixture } from '../helpers/posts.ts';
import { owner } from '../helpers/principals.ts';

t.test('an explained feed of many rows', async (t) => {
  const { as, boss, request } = await postsFixture(t);
  const viewer = as(owner('viewer'));
  await request(boss, 'POST', '/api/posts', { n: 0 });
  const { position } = (await request(viewer, 'GET', '/api/posts/_changes')).json;
  for (let round = 0; round < 2; round++) {
    const documents = Array.from({ length: 1_000 }, (_, n) => ({ n }));
    await request(boss, 'POST', '/api/posts', documents, { prefer: 'return=minimal' });
  }
  const headers = { 'millrace-explain': '1' };
  const explained = await request(
    viewer,
    'GET',
    `/api/posts/_changes?since=${position}&n=-1&wait=5`,
    undefined,
    headers,
  );
  t.strictSame(explained.json.changes, [], 'every row is judged and none is notified');
  const reported = JSON.parse(String(explained.headers['millrace-explain']));
  t.strictSame(reported, [{ action: 'read', resource: 'posts', admin: true, decision: 'allow', policies: [] }]);
});
