/** Hints of the server about lists: the client writes each of them to the console, once. */
import t from 'tap';
import { createClient } from '../../client/client.ts';
import { buildTestApp } from '../helpers/app.ts';

t.test('A hint is written to the console once.', async (t) => {
  const { app } = await buildTestApp(t);
  const client = createClient(await app.listen({ host: '127.0.0.1', port: 0 }));
  t.teardown(() => client.close());
  const books = client.collection<{ title: string }>('books');
  await books.create({ title: 'Dune' });
  const written = t.capture(console, 'warn', () => {});
  t.strictSame((await books.list({ filter: { titel: 'Dune' } })).documents, []);
  await books.list({ filter: { titel: 'Dune' } });
  await books.list({ filter: { title: 'Emma' } });
  t.match(
    written().map(({ args }) => args),
    [[/^Millrace: No document has the field 'titel'; did you mean the field 'title'\? \(\/api\/books/]],
  );
});
