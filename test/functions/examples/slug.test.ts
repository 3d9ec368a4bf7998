/** The example `slug`: articles get a slug of their title, keep it, and are refused without one or with a taken one. */
import t from 'tap';
import { exampleWorld } from '../../helpers/functions/examples-world.ts';

t.test('an article gets a slug and keeps it', async (t) => {
  const { send } = await exampleWorld(t, 'slug');
  t.match(await send('POST /api/articles', { id: 'a', title: 'Crème brûlée, at last!' }), {
    status: 201,
    json: { title: 'Crème brûlée, at last!', slug: 'creme-brulee-at-last' },
  });
  t.match(await send('PATCH /api/articles/a', { title: 'Another title', slug: 'mine' }), {
    status: 200,
    json: { title: 'Another title', slug: 'creme-brulee-at-last' },
  });
  t.match(await send('PUT /api/articles/a', { title: 'Third' }), { json: { slug: 'creme-brulee-at-last' } });
  t.match(await send('POST /api/articles', { id: 'b', title: 'Creme Brulee at last' }), {
    status: 422,
    json: { code: 'refused-by-function', errors: [{ pointer: '/title' }] },
  });
  t.match(await send('POST /api/articles', { id: 'c', text: 'x' }), {
    status: 422,
    json: { detail: /An article needs a title/ },
  });
  t.match(await send('POST /api/articles', { id: 'd', title: '?!' }), { status: 422 });
  t.match(await send('GET /api/articles?fields=id'), { json: [{ id: 'a' }] }, 'what was refused is not there');
  t.equal((await send('DELETE /api/articles/a')).status, 204, 'to delete one asks nothing');
});
