/**
 * The client's socket against a server that says what a test wants: who comes back, with which position, how often it
 * asks, and that nothing is left running.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';
import { WebSocket } from 'ws';
import { createClient, type SavedSession } from '../../client/client.ts';
import { buildTestApp } from '../helpers/app.ts';
import { answer, stage, states, welcome } from '../helpers/live/staged-server.ts';

t.test('it resumes where it was, and not where another principal was', async (t) => {
  const server = await stage(t);
  const saved: SavedSession = { refreshToken: 'r1', user: { id: 'u1' } };
  const client = createClient(server.url, { token: 'fixed', session: { load: () => saved, save: () => {} } });
  t.teardown(() => client.close());
  const seen = states();
  client.collection('todos').live({}, seen.tell);
  const first = await server.next();
  t.match(await first.hear(), { type: 'hello', token: 'fixed' });
  first.say(welcome('u1'));
  const { id } = await first.hear();
  for (const frame of answer(id, '1-5')) first.say(frame);
  first.say({ type: 'ping', position: '1-9' });
  t.match(await first.hear(), { type: 'pong' });
  first.close(4501);

  const second = await server.next();
  await second.hear();
  second.say(welcome('u1'));
  t.match(await second.hear(), { type: 'subscribe', id, since: '1-9' }, 'goes on from the ping');
  second.say({ type: 'subscribed', id, from: 'resume' });
  second.say({ type: 'live', id, position: '1-9' });
  second.say(welcome('u2'));
  second.say({ type: 'ping', position: '1-10' });
  await second.hear();
  second.close(4501);

  const third = await server.next();
  await third.hear();
  third.say(welcome('u2'));
  t.equal((await third.hear()).since, undefined, 'what it holds may be of the principal before');
});

t.test('a hello that came too late is said again', async (t) => {
  const server = await stage(t);
  const client = createClient(server.url);
  t.teardown(() => client.close());
  const seen = states();
  client.collection('todos').live({}, seen.tell);
  // As after a token that took long to be refreshed, or a machine that slept.
  (await server.next()).close(4408);
  const second = await server.next();
  t.match(await second.hear(), { type: 'hello' });
  second.say(welcome(null));
  const { id } = await second.hear();
  for (const frame of answer(id, '1-5')) second.say(frame);
  t.match(await seen.until('live'), { problem: null });
});

t.test('a question that names the moment is asked anew', async (t) => {
  const server = await stage(t);
  const client = createClient(server.url);
  t.teardown(() => client.close());
  const seen = states();
  client.collection('todos').live({ filter: { due: { $lt: '$now' } } }, seen.tell);
  for (const n of [1, 2]) {
    const line = await server.next();
    await line.hear();
    line.say(welcome(null));
    const { id, since } = await line.hear();
    t.equal(since, undefined, `connection ${n}`);
    for (const frame of answer(id, '1-5')) line.say(frame);
    await seen.until('live');
    line.close(4501);
    await seen.until('offline');
  }
});

t.test('a question that is to be asked again is asked once, however the line breaks', async (t) => {
  const server = await stage(t);
  const client = createClient(server.url);
  t.teardown(() => client.close());
  const seen = states();
  client.collection('todos').live({}, seen.tell);
  const first = await server.next();
  await first.hear();
  first.say(welcome(null));
  const { id } = await first.hear();
  const problem = { status: 503, code: 'unavailable', title: 'Not now' };
  first.say({ type: 'unsubscribed', id, problem, retryable: true });
  t.match(await seen.until('offline'), { problem: null });
  t.match(await first.hear(), { type: 'subscribe', id }, 'it asks again');
  first.say({ type: 'unsubscribed', id, problem, retryable: true });
  first.close(4501);

  const second = await server.next();
  await second.hear();
  second.say(welcome(null));
  t.match(await second.hear(), { type: 'subscribe', id });
  for (const frame of answer(id, '1-5')) second.say(frame);
  await seen.until('live');
  // Longer than a first wait: an old one would ask in between.
  const stop = client.collection('todos').live({}, states().tell);
  t.not((await second.hear()).id, id);
  stop();
  t.match(await second.hear(), { type: 'unsubscribe' });
  second.say({ type: 'error', id, problem: { status: 409, code: 'subscription-exists', title: 'Exists' } });
  second.say({ type: 'ping', position: '1-6' });
  t.match(await second.hear(), { type: 'pong' });
  t.equal((await seen.until('live'))?.status, 'live', 'an error of a frame ends no question');
});

t.test('a credential that cannot be renewed is not sent again and again', async (t) => {
  const server = await stage(t);
  const client = createClient(server.url, { token: 'mr_key' });
  t.teardown(() => client.close());
  client.collection('todos').live({}, () => {});
  const line = await server.next();
  await line.hear();
  line.say(welcome('k1'));
  await line.hear();
  line.say({ type: 'expiring', inMs: 60_000 });
  for (const position of ['1-1', '1-2', '1-3']) {
    line.say({ type: 'ping', position });
    t.match(await line.hear(), { type: 'pong' }, 'nothing but answers to what came later');
  }
});

t.test('another question in the place of one goes over the same socket', async (t) => {
  const server = await stage(t);
  const client = createClient(server.url);
  t.teardown(() => client.close());
  const todos = client.collection('todos');
  const stop = todos.live({}, () => {});
  const line = await server.next();
  await line.hear();
  line.say(welcome(null));
  const { id } = await line.hear();
  stop();
  todos.live({ limit: 1 }, () => {});
  t.match(await line.hear(), { type: 'unsubscribe', id });
  t.match(await line.hear(), { type: 'subscribe', query: { limit: 1, sort: 'id' } });
});

t.test('a question that no frame can hold ends alone', async (t) => {
  const client = createClient('http://127.0.0.1:9');
  const seen = states();
  client.collection('todos').live({ filter: { title: 'x'.repeat(70_000) } }, seen.tell);
  t.match(await seen.until('ended'), { problem: { code: 'too-large' } });
});

t.test('a runtime without a WebSocket', async (t) => {
  const given = t.intercept(globalThis, 'WebSocket', { value: undefined });
  const seen = states();
  t.throws(() => createClient('http://127.0.0.1:9').collection('todos').live({}, seen.tell), {
    name: 'TypeError',
    message: /createClient\(url, { WebSocket }\)/,
  });
  const server = await stage(t);
  const client = createClient(server.url, { WebSocket });
  t.teardown(() => client.close());
  client.collection('todos').live({}, seen.tell);
  const line = await server.next();
  t.match(await line.hear(), { type: 'hello' });
  line.say(welcome(null));
  const { id } = await line.hear();
  for (const frame of answer(id, '1-5')) line.say(frame);
  t.match(await seen.until('live'), { problem: null });
  given();
});

t.test('against the real server', async (t) => {
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });

  await t.test('as many questions as a connection may have, all at once', async (t) => {
    const client = createClient(url);
    t.teardown(() => client.close());
    const all = Array.from({ length: 200 }, () => states());
    for (const { tell } of all) client.collection('many').live({}, tell);
    await Promise.all(all.map(({ until }) => until('live')));
    t.pass('the server does not find them too many messages');
  });

  await t.test('a program ends when it closes its client', async (t) => {
    const program = `
      import { createClient } from ${JSON.stringify(new URL('../../client/client.ts', import.meta.url).href)};
      const client = createClient(${JSON.stringify(url)});
      client.collection('ends').live({}, ({ status }) => {
        process.stdout.write(status);
        client.close();
      });`;
    const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { timeout: 20_000 });
    t.equal((await run).stdout, 'live');
  });

  await t.test('documents without a sort come by id, numbers as numbers', async (t) => {
    const client = createClient(url);
    t.teardown(() => client.close());
    const letters = client.collection<{ n: number }>('letters');
    for (const id of ['c', 'a']) await letters.create({ id, n: 1 });
    const seen = states();
    letters.live({}, seen.tell);
    await seen.until('live');
    for (const id of ['d', 'b']) await letters.create({ id, n: 1 });
    const { documents: wanted } = await letters.list();
    let last = await seen.until('live');
    while (last?.documents.length !== wanted.length) {
      await new Promise((resolve) => setImmediate(resolve));
      last = await seen.until('live');
    }
    t.strictSame(last.documents, wanted);
  });
});
