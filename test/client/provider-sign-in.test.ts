/** The client signs a user in with a provider, as a page does. */
import t from 'tap';
import { createClient, MillraceError } from '../../client/client.ts';
import { startLyingProvider } from '../helpers/providers/lying-provider.ts';
import { leadingTo, newBrowser, REDIRECT, signInFixture } from '../helpers/providers/sign-in-fixture.ts';

t.test('The client signs in with a provider.', async (t) => {
  const fixture = await signInFixture(t);
  const liar = await startLyingProvider(t);
  await fixture.provide(leadingTo('acme', liar));
  const kept = new Map<string, string>();
  const store = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
  const client = createClient(fixture.url);
  const goThrough = async () => {
    const page = await newBrowser().goto(await client.signInWith('acme', { redirect: REDIRECT, store }));
    return page.url.href;
  };

  await t.test('A sign-in with a provider ends with a session.', async (t) => {
    const user = await client.completeSignIn(await goThrough(), store);
    t.match(user, { email: 'ada@provider.example' });
    t.equal(client.user?.id, user?.id);
    t.equal(kept.size, 0, 'nothing is left in the store');
    const todo = await client.collection('todos').create({ title: 'x' });
    t.equal((await client.collection('todos').get(todo.id)).id, todo.id, 'requests go out as the user');
  });

  await t.test(
    'A sign-in is rejected with a reason, on a page that did not start it, and the second time.',
    async (t) => {
      liar.lies = { redirect: { code: null, error: 'access_denied' } };
      await t.rejects(client.completeSignIn(await goThrough(), store), { code: 'provider-denied' });
      liar.lies = {};
      const address = await goThrough();
      const empty = { ...store, getItem: () => null };
      await t.rejects(client.completeSignIn(address, empty), { code: 'sign-in-expired' });
      await t.rejects(client.completeSignIn(address, store), MillraceError);
    },
  );

  await t.test('Other URLs are not the end of a sign-in.', async (t) => {
    t.equal(await client.completeSignIn(REDIRECT, store), null);
  });
});
