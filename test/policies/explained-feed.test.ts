/** Asking why a request was decided as it was costs no more than the request, however often it was decided. */
import t from 'tap';
import { postsWorld } from '../helpers/posts.ts';
import { owner } from '../helpers/principals.ts';

t.test('an explained feed of many rows', async (t) => {
  const { as, boss, ask } = await postsWorld(t);
  const viewer = as(owner('viewer'));
  await ask(boss, 'POST', '/api/posts', { n: 0 });
  const { position } = (await ask(viewer, 'GET', '/api/posts/_changes')).json;
  for (let round = 0; round < 2; round++) {
    const documents = Array.from({ length: 1_000 }, (_, n) => ({ n }));
    await ask(boss, 'POST', '/api/posts', documents, { prefer: 'return=minimal' });
  }
  const headers = { 'millrace-explain': '1' };
  const explained = await ask(viewer, 'GET', `/api/posts/_changes?since=${position}&n=-1&wait=5`, undefined, headers);
  t.strictSame(explained.json.changes, [], 'every row is judged and none is told');
  const told = JSON.parse(String(explained.headers['millrace-explain']));
  t.strictSame(told, [{ action: 'read', place: 'posts', owner: true, verdict: 'allow', policies: [] }]);
});
