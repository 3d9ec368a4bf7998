/** The client's socket against a scripted server: reconnects, resume positions, retries, and cleanup. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';
import { WebSocket } from 'ws';
import { createClient, type SavedSession } from '../../client/client.ts';
import { buildTestApp } from '../helpers/app.ts';
import { response, stage, states, welcome } from '../helpers/live/staged-server.ts';

t.test('The client resumes at its position, but not at that of another principal.', async (t) => {
  const server = await stage(t);
  const saved: SavedSession = { refreshToken: 'r1', user: { id: 'u1' } };
  const client = createClient(server.url, { token: 'fixed', session: { load: () => saved, save: () => {} } });
  t.teardown(() => client.close());
  const seen = states();
  client.collection('todos').live({}, seen.report);
  const first = await server.next();
  t.match(await first.hear(), { type: 'hello', token: 'fixed' });
  first.say(welcome('u1'));
  const { id } = await first.hear();
  for (const frame of response(id, '1-5')) first.say(frame);
  first.say({ type: 'ping', position: '1-9' });
  t.match(await first.hear(), { type: 'pong' });
  first.close(4501);

  const second = await server.next();
  await second.hear();
  second.say(welcome('u1'));
  t.match(await second.hear(), { type: 'subscribe', id, since: '1-9' }, 'continues from the ping');
  second.say({ type: 'subscribed', id, from: 'resume' });
  second.say({ type: 'live', id, position: '1-9' });
  second.say(welcome('u2'));
  second.say({ type: 'ping', position: '1-10' });
  await second.hear();
  second.close(4501);

  const third = await server.next();
  await third.hear();
  third.say(welcome('u2'));
  t.equal((await third.hear()).since, undefined, 'its documents may belong to the previous principal');
});

t.test('A hello that came too late is sent again.', async (t) => {
  const server = await stage(t);
  const client = createClient(server.url);
  t.teardown(() => client.close());
  const seen = states();
  client.collection('todos').live({}, seen.report);
  // As after a slow token refresh, or on a machine that slept.
  (await server.next()).close(4408);
  const second = await server.next();
  t.match(await second.hear(), { type: 'hello' });
  second.say(welcome(null));
  const { id } = await second.hear();
  for (const frame of response(id, '1-5')) second.say(frame);
  t.match(await seen.until('live'), { problem: null });
});

t.test('A query that uses the current time is sent again instead of resumed.', async (t) => {
  const server = await stage(t);
  const client = createClient(server.url);
  t.teardown(() => client.close());
  const seen = states();
  client.collection('todos').live({ filter: { due: { $lt: '$now' } } }, seen.report);
  for (const n of [1, 2]) {
    const line = await server.next();
    await line.hear();
    line.say(welcome(null));
    const { id, since } = await line.hear();
    t.equal(since, undefined, `connection ${n}`);
    for (const frame of response(id, '1-5')) line.say(frame);
    await seen.until('live');
    line.close(4501);
    await seen.until('offline');
  }
});

t.test('A query to be retried is retried once, even after a disconnect.', async (t) => {
  const server = await stage(t);
  const client = createClient(server.url);
  t.teardown(() => client.close());
  const seen = states();
  client.collection('todos').live({}, seen.report);
  const first = await server.next();
  await first.hear();
  first.say(welcome(null));
  const { id } = await first.hear();
  const problem = { status: 503, code: 'unavailable', title: 'Not now' };
  first.say({ type: 'unsubscribed', id, problem, retryable: true });
  t.match(await seen.until('offline'), { problem: null });
  t.match(await first.hear(), { type: 'subscribe', id }, 'it retries');
  first.say({ type: 'unsubscribed', id, problem, retryable: true });
  first.close(4501);

  const second = await server.next();
  await second.hear();
  second.say(welcome(null));
  t.match(await second.hear(), { type: 'subscribe', id });
  for (const frame of response(id, '1-5')) second.say(frame);
  await seen.until('live');
  // Longer than the first delay: an obsolete retry would be sent in between.
  const stop = client.collection('todos').live({}, states().report);
  t.not((await second.hear()).id, id);
  stop();
  t.match(await second.hear(), { type: 'unsubscribe' });
  second.say({ type: 'error', id, problem: { status: 409, code: 'subscription-exists', title: 'Exists' } });
  second.say({ type: 'ping', position: '1-6' });
  t.match(await second.hear(), { type: 'pong' });
  t.equal((await seen.until('live'))?.status, 'live', 'an error of a frame ends no question');
});

t.test('A credential that cannot be renewed is not sent repeatedly.', async (t) => {
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
    t.match(await line.hear(), { type: 'pong' }, 'only responses to later requests');
  }
});

t.test('A query that replaces another one uses the same socket.', async (t) => {
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

t.test('A query that exceeds the frame limit ends alone.', async (t) => {
  const client = createClient('http://127.0.0.1:9');
  const seen = states();
  client.collection('todos').live({ filter: { title: 'x'.repeat(70_000) } }, seen.report);
  t.match(await seen.until('ended'), { problem: { code: 'subscription-result-too-large' } });
});

t.test('A runtime without a WebSocket gets a clear error.', async (t) => {
  const given = t.intercept(globalThis, 'WebSocket', { value: undefined });
  const seen = states();
  t.throws(() => createClient('http://127.0.0.1:9').collection('todos').live({}, seen.report), {
    name: 'TypeError',
    message: /createClient\(url, { WebSocket }\)/,
  });
  const server = await stage(t);
  const client = createClient(server.url, { WebSocket });
  t.teardown(() => client.close());
  client.collection('todos').live({}, seen.report);
  const line = await server.next();
  t.match(await line.hear(), { type: 'hello' });
  line.say(welcome(null));
  const { id } = await line.hear();
  for (const frame of response(id, '1-5')) line.say(frame);
  t.match(await seen.until('live'), { problem: null });
  given();
});

t.test('The socket works against the real server.', async (t) => {
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });

  await t.test('A connection can have the maximum number of live queries at once.', async (t) => {
    const client = createClient(url);
    t.teardown(() => client.close());
    const all = Array.from({ length: 200 }, () => states());
    for (const { report } of all) client.collection('many').live({}, report);
    await Promise.all(all.map(({ until }) => until('live')));
    t.pass('the server does not find them too many messages');
  });

  await t.test('A process exits when it closes its client.', async (t) => {
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

  await t.test('Documents without a sort are ordered by id, numbers as numbers.', async (t) => {
    const client = createClient(url);
    t.teardown(() => client.close());
    const emails = client.collection<{ n: number }>('letters');
    for (const id of ['c', 'a']) await emails.create({ id, n: 1 });
    const seen = states();
    emails.live({}, seen.report);
    await seen.until('live');
    for (const id of ['d', 'b']) await emails.create({ id, n: 1 });
    const { documents: requested } = await emails.list();
    let last = await seen.until('live');
    while (last?.documents.length !== requested.length) {
      await new Promise((resolve) => setImmediate(resolve));
      last = await seen.until('live');
    }
    t.strictSame(last.documents, requested);
  });
});
