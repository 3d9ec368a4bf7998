/** The client against the real server: events that follow and survive a lost connection, requests to any route, and tokens that a function gives. */
import t from 'tap';
import { createClient, type EventState, Problem } from '../../client/client.ts';
import { signInOwner } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { breakable } from '../helpers/network/breakable.ts';

/** What a listener was told, and a wait for what it shall be told. */
function follow() {
  const states: EventState[] = [];
  let wake = () => {};
  return {
    tell: (state: EventState) => {
      states.push(state);
      wake();
    },
    /** The ids of the documents of all events, in the order in which they came. */
    documents: () => states.flatMap(({ events }) => events.map(({ documentId }) => documentId)).join(),
    async until(wanted: (state: EventState) => boolean): Promise<EventState> {
      for (;;) {
        const last = states.at(-1);
        if (last !== undefined && wanted(last)) return last;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

t.test('events in development mode', async (t) => {
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const line = await breakable(t, Number(new URL(url).port));
  const client = createClient(`http://127.0.0.1:${line.port}`);
  const direct = createClient(url);
  t.teardown(() => client.close());
  const write = (id: string, done = false) => direct.collection('news').create({ id, done });

  await t.test('follow types and a filter, and go on without a gap after a lost connection', async (t) => {
    const seen = follow();
    const stop = client.events({ types: ['news.*'], filter: { 'data.done': false } }, seen.tell);
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
    line.mend();
    await seen.until(({ status }) => status === 'live');
    await write('g');
    await seen.until(() => seen.documents().endsWith('g'));
    t.equal(seen.documents(), 'a,c,d,f,g', 'each once and in order');
    stop();
    const another = follow();
    t.teardown(direct.events({ types: ['news.*'] }, another.tell));
    await another.until(({ status }) => status === 'live');
    await write('h');
    // The next test begins at the end of the log, and "h" must be in the log by then.
    await another.until(() => another.documents() === 'h');
    t.equal(seen.documents(), 'a,c,d,f,g', 'nobody is told after the end');
  });

  await t.test('begin after a position, or tell that events were missed', async (t) => {
    const { position } = (await direct.request('GET', '/events')).body as { position: string };
    await write('i');
    const seen = follow();
    t.teardown(client.events({ types: ['news.*'], since: position }, seen.tell));
    await seen.until(() => seen.documents() === 'i');
    const late = follow();
    t.teardown(client.events({ types: ['news.*'], since: position.replace(/\d+$/, '999999') }, late.tell));
    t.match(await late.until(({ missed }) => missed !== null), { missed: 'position-unknown', problem: null });
    await late.until(({ status }) => status === 'live');
    await write('j');
    await late.until(() => late.documents() === 'j');
  });

  await t.test('of a type that cannot exist end at once', async (t) => {
    const seen = follow();
    client.events({ types: ['news.create'] }, seen.tell);
    t.match(await seen.until(({ status }) => status === 'ended'), { problem: { code: 'invalid-parameter' } });
  });

  await t.test('a request goes to any route', async (t) => {
    const headers = { 'idempotency-key': 'k1' };
    const asked = { body: { id: 'x', n: 1 }, headers };
    const made = await client.request('POST', '/api/things', asked);
    t.match(made.body, { id: 'x', n: 1 });
    t.match((await client.request('POST', '/api/things', asked)).body, made.body, 'its headers are sent');
    t.match((await client.request('GET', '/api/things?count=exact&limit=1')).headers.get('millrace-count'), '1');
    t.equal((await client.request('DELETE', '/api/things/x')).body, null);
    await t.rejects(client.request('GET', '/api/things/x'), { code: 'document-not-found', status: 404 });
  });
});

t.test('a function gives the token', async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { accessToken } = await signInOwner(app, parts);
  const ended = new Problem({ status: 401, code: 'invalid-credential', title: 'The session has ended' });
  /** Gives one that the server refuses, and then another. */
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

  await t.test('and another one when the server has refused it', async (t) => {
    const { refused, token } = source(async () => accessToken);
    const client = createClient(url, { token });
    t.match((await client.request('GET', '/auth/me')).body, { email: 'owner@example.org' });
    t.strictSame(refused.slice(0, 2), [null, 'no-such-token']);
  });

  await t.test('for the socket as well', async (t) => {
    const { refused, token } = source(async () => accessToken);
    const client = createClient(url, { token });
    t.teardown(() => client.close());
    const seen = follow();
    client.events({ types: ['system.user.*'] }, seen.tell);
    await seen.until(({ status }) => status === 'live');
    t.ok(refused.includes('no-such-token'));
  });

  await t.test('and its refusal ends requests and what is live', async (t) => {
    const { token } = source(() => Promise.reject(ended));
    const client = createClient(url, { token });
    t.teardown(() => client.close());
    await t.rejects(client.request('GET', '/auth/me'), ended);
    const { token: other } = source(() => Promise.reject(ended));
    const live = createClient(url, { token: other });
    t.teardown(() => live.close());
    const seen = follow();
    live.events({ types: ['*'] }, seen.tell);
    t.match(await seen.until(({ status }) => status === 'ended'), { problem: { status: 401 } });
  });
});
