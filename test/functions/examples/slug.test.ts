/**
 * The example `slug`: articles get a slug derived from their title, keep it, and are rejected without one or with a taken one.
 */
import t from 'tap';
import { exampleFixture } from '../../helpers/functions/examples-fixture.ts';

t.test('The example slug gives an article a slug that it keeps.', async (t) => {
  const { send } = await exampleFixture(t, 'slug');
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
    json: { code: 'rejected-by-function', errors: [{ pointer: '/title' }] },
  });
  t.match(await send('POST /api/articles', { id: 'c', text: 'x' }), {
    status: 422,
    json: { detail: /An article needs a title/ },
  });
  t.match(await send('POST /api/articles', { id: 'd', title: '?!' }), { status: 422 });
  t.match(await send('GET /api/articles?fields=id'), { json: [{ id: 'a' }] }, 'the rejected one does not exist');
  t.equal((await send('DELETE /api/articles/a')).status, 204, 'a deletion needs no query');
});
