/**
 * Resuming: missed changes are sent in order or not at all, however much else happened; a snapshot continues with the
 * log without a gap; a client that does not read costs nothing and misses nothing.
 */
import t from 'tap';
import { formatPosition } from '../../../src/events/log/position.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { LiveState, numberOf, stateText } from '../../helpers/live/live-state.ts';
import { type Frame, openSocket, type TestSocket } from '../../helpers/live/socket.ts';
import { until } from '../../helpers/until.ts';

const LONG = process.env['MILLRACE_LONG'] === '1';
/** More than the maximum number of missed changes. */
const FOREIGN = LONG ? 1_000_000 : 10_500;
const ATTEMPTS = LONG ? 1_000 : 40;
const RETURNS = LONG ? 20 : 5;

interface Shown {
  readonly id: string;
  readonly n: number;
}

interface Named {
  _id: string;
  n?: number;
}

t.setTimeout(LONG ? 1_800_000 : 120_000);
t.test('resuming subscriptions', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { data } = services.mongo;
  for (const name of ['todos', 'others', 'ranks', 'race', 'wide']) {
    await data.createCollection(name, { changeStreamPreAndPostImages: { enabled: true } });
  }
  const todos = data.collection<Named>('todos');
  const here = () => formatPosition(services.events.tail.position);
  /** This process has sent everything written so far. */
  const reported = () =>
    new Promise<void>((resolve) => {
      const detach = services.events.tail.attach({
        rows: (rows) => {
          if (!rows.some((row) => row.collection === 'marks' && row.operation === 'insert')) return;
          detach();
          resolve();
        },
      });
      void data.collection('marks').insertOne({});
    });
  const insert = async (collection: string, count: number, from = 0) => {
    for (let done = 0; done < count; done += 2_000) {
      const size = Math.min(2_000, count - done);
      const batch = Array.from({ length: size }, (_, index) => ({ _id: `${from + done + index}`, n: done + index }));
      await data.collection<Named>(collection).insertMany(batch, { ordered: false });
    }
    await reported();
  };
  const subscribe = async (socket: TestSocket, since: string, query: object = {}, collection = 'todos') => {
    socket.send({ type: 'subscribe', id: 's', collection, query, since });
    await until(() => socket.of('s').some(({ type }) => type === 'live'), 'live', 60_000);
    return socket.of('s');
  };

  await reported();
  await t.test('a resumed subscription receives exactly what it missed', async (t) => {
    const since = here();
    const frames = await subscribe(await openSocket(t, url), since);
    t.match(frames, [{ type: 'subscribed', from: 'resume' }, { type: 'live' }]);
    await todos.insertMany([{ _id: 'a' }, { _id: 'b' }]);
    await todos.updateOne({ _id: 'a' }, { $set: { n: 1 } });
    await todos.deleteOne({ _id: 'b' });
    await reported();
    const missed = await subscribe(await openSocket(t, url), since);
    t.match(
      missed.slice(1, -1).map(({ op, documentId }) => `${op} ${documentId}`),
      ['enter a', 'enter b', 'update a', 'leave b'],
    );
    await todos.deleteMany({});
    await reported();
  });

  await t.test('10,000 matching changes are sent, 10,001 restart', async (t) => {
    const since = here();
    await insert('todos', 9_999);
    const frames = await subscribe(await openSocket(t, url), since);
    t.equal(frames[0]?.['from'], 'resume');
    const changes = frames.filter(({ type }) => type === 'change');
    t.equal(changes.length, 9_999);
    t.ok(
      changes.every(
        ({ event }, index) => index === 0 || numberOf(String(event)) > numberOf(String(changes[index - 1]?.['event'])),
      ),
    );
    await insert('todos', 2, 20_000);
    await todos.deleteMany({ n: { $gt: 9_000 } });
    await reported();
    const anew = await subscribe(await openSocket(t, url), since);
    t.match(anew[0], { type: 'reset', reason: 'too-far-behind' });
    await todos.deleteMany({ _id: { $in: ['20000', '20001'] } });
    await reported();
    const few = await subscribe(await openSocket(t, url), since, { filter: { n: 5 } });
    t.match(few, [{ from: 'resume' }, { op: 'enter', documentId: '5' }, { type: 'live' }]);
    await todos.deleteMany({});
    await reported();
  });

  await t.test(`a change behind ${FOREIGN} of others is sent`, async (t) => {
    const since = here();
    await insert('others', FOREIGN);
    await todos.insertOne({ _id: 'far' });
    await reported();
    const started = performance.now();
    const frames = await subscribe(await openSocket(t, url), since);
    t.comment(`in ${Math.round(performance.now() - started)} ms`);
    t.match(frames, [{ from: 'resume' }, { op: 'enter', documentId: 'far' }, { type: 'live' }]);

    await data.collection<Named>('todos.old').insertOne({ _id: 'dotted' });
    await insert('others', FOREIGN, FOREIGN);
    const events = await openSocket(t, url);
    events.send({ type: 'subscribe', id: 'e', events: ['todos.*'], since });
    await events.frame({ type: 'live' });
    t.match(events.of('e'), [
      { from: 'resume' },
      { event: { type: 'todos.created', documentId: 'far' } },
      { event: { type: 'todos.old.created', documentId: 'dotted' } },
      { type: 'live' },
    ]);
  });

  await t.test('up to 1,000 missed changes are sent quickly', async (t) => {
    const since = here();
    await insert('todos', 1_000);
    const times: number[] = [];
    for (let run = 0; run < RETURNS; run++) {
      const socket = await openSocket(t, url);
      const started = performance.now();
      const frames = await subscribe(socket, since);
      times.push(performance.now() - started);
      t.equal(frames.length, 1_002);
      socket.socket.close();
    }
    times.sort((a, b) => a - b);
    t.comment(`median ${times[RETURNS >> 1]?.toFixed(0)} ms, the slowest ${times.at(-1)?.toFixed(0)} ms`);
    await todos.deleteMany({});
    await reported();
  });

  await t.test('an untouched window resumes, others restart', async (t) => {
    const ranks = data.collection<Named>('ranks');
    await ranks.insertMany([1, 2, 3].map((n) => ({ _id: `r${n}`, n })));
    await reported();
    const since = here();
    await data.collection<Named>('others').insertOne({ _id: 'x' });
    await reported();
    const query = { filter: { n: { $lt: 10 } }, sort: 'n', limit: 2 };
    const socket = await openSocket(t, url);
    t.match(await subscribe(socket, since, query, 'ranks'), [{ from: 'resume' }, { type: 'live' }]);
    await ranks.deleteOne({ _id: 'r1' });
    t.match(await socket.frame({ op: 'enter' }), { documentId: 'r3' });
    await ranks.insertOne({ _id: 'r99', n: 99 });
    await reported();
    const later = here();
    t.match(await subscribe(await openSocket(t, url), later, query, 'ranks'), [{ from: 'resume' }, { type: 'live' }]);
    t.match(await subscribe(await openSocket(t, url), since, query, 'ranks'), [
      { type: 'reset', reason: 'window' },
      { from: 'snapshot' },
      { documents: [{ id: 'r2' }, { id: 'r3' }] },
      { type: 'live' },
    ]);
  });

  await t.test('a subscription with an unusable position restarts with the reason', async (t) => {
    for (const [since, reason] of [
      ['9-5', 'position-unknown'],
      ['1-999999999', 'position-unknown'],
    ] as const) {
      const frames = await subscribe(await openSocket(t, url), since);
      t.match(frames, [{ type: 'reset', reason }, { from: 'snapshot' }, { last: true }, { type: 'live' }]);
    }
    const socket = await openSocket(t, url);
    socket.send({ type: 'subscribe', id: 's', events: ['todos.*'], since: '9-5' });
    await socket.frame({ type: 'live' });
    t.match(socket.of('s'), [{ type: 'reset' }, { type: 'subscribed', from: 'now' }, { type: 'live' }]);
  });

  await t.test(`a snapshot and the log have no gap in ${ATTEMPTS} attempts`, async (t) => {
    const race = data.collection<Named>('race');
    let counter = 0;
    let going = true;
    const writing = (async () => {
      while (going) {
        counter += 1;
        await race.updateOne(
          { _id: `d${counter % 7}` },
          { $set: { n: counter } },
          { upsert: true, writeConcern: { w: 1 } },
        );
        if (counter % 5 === 0) await race.deleteOne({ _id: `d${(counter + 3) % 7}` }, { writeConcern: { w: 1 } });
      }
    })();
    const states: LiveState[] = [];
    let stale = 0;
    /** The counter only rises: a lower value than before is an old one. */
    const watch = (newest: Map<string, number>, frame: Frame) => {
      const logged = [
        ...((frame['documents'] as Shown[] | undefined) ?? []),
        (frame['document'] as Shown) ?? [],
      ].flat();
      for (const { id, n } of logged) {
        const key = `${frame['id']} ${id}`;
        if (n < (newest.get(key) ?? 0)) stale += 1;
        newest.set(key, n);
      }
    };
    for (let run = 0; run < ATTEMPTS; run += 20) {
      const socket = await openSocket(t, url);
      const mine = Array.from({ length: 20 }, (_, index) => new LiveState(`s${index}`));
      const newest = new Map<string, number>();
      socket.onFrame = (frame) => {
        watch(newest, frame);
        for (const state of mine) state.take(frame);
      };
      states.push(...mine);
      for (const { id } of mine) {
        const query = Number(id.slice(1)) % 4 === 0 ? { sort: '-n', limit: 3 } : {};
        socket.send({ type: 'subscribe', id, collection: 'race', query });
        await new Promise((resolve) => setTimeout(resolve, 3));
      }
      await until(() => mine.every(({ live }) => live), 'all are live');
      if (states.length > 200) for (const state of states.splice(0, 20)) t.strictSame(state.issues, []);
    }
    going = false;
    await writing;
    await reported();
    t.equal(stale, 0, 'nothing older than the snapshot is sent');
    const all = (await app.inject('/api/race')).json();
    const first = (await app.inject('/api/race?sort=-n&limit=3')).json();
    for (const state of states) {
      const requested = stateText(Number(state.id.slice(1)) % 4 === 0 ? first : all);
      await until(() => stateText(state.documents.values()) === requested, `${state.id} has what is stored`, 5_000);
      t.strictSame(state.issues, []);
    }
  });

  await t.test('a client that does not read misses nothing', async (t) => {
    const wide = data.collection<{ _id: string; n: number; pad: string }>('wide');
    const [slow, other] = [await openSocket(t, url), await openSocket(t, url)];
    const states = [slow, other].map((socket) => {
      const state = new LiveState('w');
      socket.onFrame = (frame) => state.take(frame);
      socket.send({ type: 'subscribe', id: 'w', collection: 'wide' });
      return state;
    });
    await until(() => states.every(({ live }) => live), 'both are live');
    slow.socket.pause();
    const pad = 'x'.repeat(20_000);
    const before = process.memoryUsage().rss;
    const put = (n: number) => wide.updateOne({ _id: `d${n % 50}` }, { $set: { n, pad } }, { upsert: true });
    for (let n = 0; n < 600; n += 10) await Promise.all(Array.from({ length: 10 }, (_, index) => put(n + index)));
    const requested = () => (other.frames.length > 600 ? states[1]?.documents.get('d49') : null);
    await until(() => (requested() as { n?: number } | null)?.n === 599, 'the other one has it all');
    t.comment(`${Math.round((process.memoryUsage().rss - before) / 1e6)} MB more`);
    t.ok(slow.frames.length < 500, 'the slow one has not');
    slow.socket.resume();
    await until(
      () => stateText(states[0]?.documents.values() ?? []) === stateText(states[1]?.documents.values() ?? []),
      'it has caught up',
    );
    t.equal(states[0]?.resets, 0);
    t.strictSame(states[0]?.issues, []);
    t.equal(slow.of('w').filter(({ type }) => type === 'change').length, 600, 'each change once');
  });
});
