/** The client signs a user in by a provider, as a page does. */
import t from 'tap';
import { createClient, Problem } from '../../client/client.ts';
import { startLyingProvider } from '../helpers/providers/lying-provider.ts';
import { leadingTo, newBrowser, REDIRECT, signInWorld } from '../helpers/providers/sign-in-world.ts';

t.test('signing in by a provider', async (t) => {
  const world = await signInWorld(t);
  const liar = await startLyingProvider(t);
  await world.provide(leadingTo('acme', liar));
  const kept = new Map<string, string>();
  const store = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
  const client = createClient(world.url);
  const goThrough = async () => {
    const page = await newBrowser().goto(await client.signInWith('acme', { redirect: REDIRECT, store }));
    return page.url.href;
  };

  await t.test('ends with a session', async (t) => {
    const user = await client.finishSignIn(await goThrough(), store);
    t.match(user, { email: 'ada@provider.example' });
    t.equal(client.user?.id, user?.id);
    t.equal(kept.size, 0, 'nothing is left in the store');
    const todo = await client.collection('todos').create({ title: 'x' });
    t.equal((await client.collection('todos').get(todo.id)).id, todo.id, 'requests go out as the user');
  });

  await t.test('is refused with a reason, at a page that did not begin it, and a second time', async (t) => {
    liar.lies = { redirect: { code: null, error: 'access_denied' } };
    await t.rejects(client.finishSignIn(await goThrough(), store), { code: 'provider-denied' });
    liar.lies = {};
    const address = await goThrough();
    const empty = { ...store, getItem: () => null };
    await t.rejects(client.finishSignIn(address, empty), { code: 'flow-unusable' });
    await t.rejects(client.finishSignIn(address, store), Problem);
  });

  await t.test('is nothing at other addresses', async (t) => {
    t.equal(await client.finishSignIn(REDIRECT, store), null);
  });
});
