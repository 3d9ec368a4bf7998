/**
 * The client against the real server: events that are followed across a lost connection, requests to any route, and tokens from a
 * function.
 */
import t from 'tap';
import { createClient, type EventState, MillraceError } from '../../client/client.ts';
import { buildTestApp } from '../helpers/app.ts';
import { breakable } from '../helpers/network/breakable.ts';
import { signInAdmin } from '../helpers/users.ts';

/** The events passed to a listener, and a wait for expected ones. */
function follow() {
  const states: EventState[] = [];
  let wake = () => {};
  return {
    report: (state: EventState) => {
      states.push(state);
      wake();
    },
    /** The document ids of all events, in order of arrival. */
    documents: () => states.flatMap(({ events }) => events.map(({ documentId }) => documentId)).join(),
    async until(requested: (state: EventState) => boolean): Promise<EventState> {
      for (;;) {
        const last = states.at(-1);
        if (last !== undefined && requested(last)) return last;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

t.test('The client follows events in development mode.', async (t) => {
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const line = await breakable(t, Number(new URL(url).port));
  const client = createClient(`http://127.0.0.1:${line.port}`);
  const direct = createClient(url);
  t.teardown(() => client.close());
  const write = (id: string, done = false) => direct.collection('news').create({ id, done });

  await t.test('Events follow types and a filter, and continue without a gap after a lost connection.', async (t) => {
    const seen = follow();
    const stop = client.events({ types: ['news.*'], filter: { 'data.done': false } }, seen.report);
    await seen.until(({ status }) => status === 'live');
    await write('a');
    await write('b', true);
    await write('c');
    await seen.until(() => seen.documents() === 'a,c');
    line.cut();
    t.strictSame(await seen.until(({ status }) => status === 'offline'), {
      status: 'offline',
      events: [],
      missed: null,
      problem: null,
    });
    await write('d');
    await write('e', true);
    await write('f');
    line.fix();
    await seen.until(({ status }) => status === 'live');
    await write('g');
    await seen.until(() => seen.documents().endsWith('g'));
    t.equal(seen.documents(), 'a,c,d,f,g', 'each once and in order');
    stop();
    const another = follow();
    t.teardown(direct.events({ types: ['news.*'] }, another.report));
    await another.until(({ status }) => status === 'live');
    await write('h');
    // The next test starts at the end of the log, and "h" must be in the log by then.
    await another.until(() => another.documents() === 'h');
    t.equal(seen.documents(), 'a,c,d,f,g', 'no listener is called after the end');
  });

  await t.test('Events start after a position, or report that some were missed.', async (t) => {
    const { position } = (await direct.request('GET', '/events')).body as { position: string };
    await write('i');
    const seen = follow();
    t.teardown(client.events({ types: ['news.*'], since: position }, seen.report));
    await seen.until(() => seen.documents() === 'i');
    const late = follow();
    t.teardown(client.events({ types: ['news.*'], since: position.replace(/\d+$/, '999999') }, late.report));
    t.match(await late.until(({ missed }) => missed !== null), { missed: 'position-unknown', problem: null });
    await late.until(({ status }) => status === 'live');
    await write('j');
    await late.until(() => late.documents() === 'j');
  });

  await t.test('Events of a type that cannot exist end immediately.', async (t) => {
    const seen = follow();
    client.events({ types: ['news.create'] }, seen.report);
    t.match(await seen.until(({ status }) => status === 'ended'), { problem: { code: 'invalid-parameter' } });
  });

  await t.test('The client sends a request to any route.', async (t) => {
    const headers = { 'idempotency-key': 'k1' };
    const requested = { body: { id: 'x', n: 1 }, headers };
    const created = await client.request('POST', '/api/things', requested);
    t.match(created.body, { id: 'x', n: 1 });
    t.match((await client.request('POST', '/api/things', requested)).body, created.body, 'its headers are sent');
    t.match((await client.request('GET', '/api/things?count=exact&limit=1')).headers.get('millrace-count'), '1');
    t.equal((await client.request('DELETE', '/api/things/x')).body, null);
    await t.rejects(client.request('GET', '/api/things/x'), { code: 'document-not-found', status: 404 });
  });
});

t.test('A function provides the token.', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { accessToken } = await signInAdmin(app, services);
  const ended = new MillraceError({ status: 401, code: 'invalid-token', title: 'The session has ended' });
  /** Returns a token that the server rejects, and then another. */
  const source = (second: () => Promise<string>) => {
    const refused: (string | null)[] = [];
    let current: () => Promise<string> = async () => 'no-such-token';
    const token = async (one: string | null) => {
      refused.push(one);
      if (one !== null) current = second;
      return await current();
    };
    return { refused, token };
  };

  await t.test('A function provides another token after a rejection.', async (t) => {
    const { refused, token } = source(async () => accessToken);
    const client = createClient(url, { token });
    t.match((await client.request('GET', '/auth/me')).body, { email: 'owner@example.org' });
    t.strictSame(refused.slice(0, 2), [null, 'no-such-token']);
  });

  await t.test('A function provides another token for the socket.', async (t) => {
    const { refused, token } = source(async () => accessToken);
    const client = createClient(url, { token });
    t.teardown(() => client.close());
    const seen = follow();
    client.events({ types: ['system.user.*'] }, seen.report);
    await seen.until(({ status }) => status === 'live');
    t.ok(refused.includes('no-such-token'));
  });

  await t.test('An error of the token function ends requests and live queries.', async (t) => {
    const { token } = source(() => Promise.reject(ended));
    const client = createClient(url, { token });
    t.teardown(() => client.close());
    await t.rejects(client.request('GET', '/auth/me'), ended);
    const { token: other } = source(() => Promise.reject(ended));
    const live = createClient(url, { token: other });
    t.teardown(() => live.close());
    const seen = follow();
    live.events({ types: ['*'] }, seen.report);
    t.match(await seen.until(({ status }) => status === 'ended'), { problem: { status: 401 } });
  });
});
