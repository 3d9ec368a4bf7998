/**
 * Expansion far beyond any need: large documents referenced a thousand times, ids by the ten thousand. Memory is
 * limited, and exceeding a limit is reported by its code.
 */
import type { IncomingMessage } from 'node:http';
import http from 'node:http';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';

const MIB = 1024 * 1024;

t.test('expansion', async (t) => {
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MAX_BODY_BYTES: '4000000',
    MILLRACE_MAX_EXPAND_BYTES: '4000000000',
    MILLRACE_MAX_LIST_BYTES: '4000000000',
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const collection = (name: string) => services.mongo.data.collection<{ _id: string | number }>(name);
  const request = async (address: string) => {
    const response = await app.inject(`/api/${address}`);
    return { status: response.statusCode, json: response.json() };
  };
  await collection('users').insertOne({ _id: 'u', ...{ filling: 'x'.repeat(MIB) } });

  await t.test('a large document is shown as often as it is referenced, up to 16 MiB with one document', async (t) => {
    const named = (count: number) => Array(count).fill('u');
    await collection('few').insertOne({ _id: 'a', ...{ a: named(10), b: ['u', ['nobody', 'u']] } });
    for (const address of ['few/a?expand=a:users,b:users', 'few?expand=a:users,b:users']) {
      const { status, json } = await request(address);
      const [{ _expanded: shown }] = [json].flat();
      t.equal(status, 200, address);
      t.strictSame(
        shown.a.map(({ filling }: { filling: string }) => filling.length),
        Array(10).fill(MIB),
      );
      t.match(shown.b, [{ id: 'u' }, [null, { id: 'u', _meta: { revision: 0 } }]]);
    }
    await collection('many').insertOne({ _id: 'a', ...{ a: named(1_000) } });
    for (const address of ['many/a?expand=a:users', 'many?expand=a:users', 'many?expand=a:users&limit=1']) {
      t.match(await request(address), { status: 400, json: { code: 'response-too-large', detail: /16 MiB/ } }, address);
    }
  });

  await t.test('up to 10,000 ids of one document are expanded', async (t) => {
    const distinct = (count: number, from = 0) =>
      Array.from({ length: count }, (_, n) => `${'y'.repeat(40)}${from + n}`);
    await collection('wide').insertOne({ _id: 'fits', ...{ a: [...distinct(9_999), 'u'] } });
    const { status, json } = await request('wide/fits?expand=a:users');
    t.equal(status, 200);
    t.equal(json._expanded.a.length, 10_000);
    t.match([json._expanded.a[0], json._expanded.a[9_999]], [null, { id: 'u' }]);

    await collection('wider').insertMany(Array.from({ length: 22 }, (_, n) => ({ _id: n, a: distinct(35_000) })));
    t.match(await request('wider?expand=a:users'), {
      status: 400,
      json: { code: 'response-too-large', detail: /35000/ },
    });

    const documents = Array.from({ length: 5 }, (_, n) => ({ _id: n, a: [...distinct(9_000, n * 9_000), 'u'] }));
    await collection('altogether').insertMany(documents);
    const all = await request('altogether?expand=a:users');
    t.equal(all.status, 200);
    t.strictSame(
      all.json.map(({ _expanded: { a } }: { _expanded: { a: { id: string }[] } }) => a[9_000]?.id),
      Array(5).fill('u'),
    );
  });

  await t.test('documents that are together large are read a few at a time, all of them', async (t) => {
    const ids = Array.from({ length: 40 }, (_, n) => `l${n}`);
    await collection('large').insertMany(ids.map((_id, n) => ({ _id, n, filling: 'z'.repeat(MIB) })));
    await collection('names').insertMany(ids.map((_id, n) => ({ _id: `${n}`.padStart(2, '0'), a: _id })));
    const { status, json } = await request('names?expand=a:large');
    t.equal(status, 200);
    t.strictSame(
      json.map(({ _expanded: { a } }: { _expanded: { a: { n: number } } }) => a.n),
      ids.map((_, n) => n),
    );
  });

  await t.test('a list that is large because of its references is not held in memory', async (t) => {
    const posts = Array.from({ length: 200 }, (_, n) => ({ _id: n, a: Array(10).fill('u') }));
    await collection('posts').insertMany(posts);
    const before = held();
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      http.get(`${url}/api/posts?expand=a:users`, { agent: false }, resolve).once('error', reject);
    });
    t.equal(response.statusCode, 200);
    let bytes = 0;
    let most = 0;
    for await (const chunk of response) {
      bytes += chunk.length;
      most = Math.max(most, held() - before);
      if (bytes > 60 * MIB) break;
    }
    t.ok(bytes > 60 * MIB, 'of 2,000 MiB');
    t.ok(most < 150 * MIB, `${Math.round(most / MIB)} MiB were held at most`);
  });

  await t.test('what expand adds to one response is limited as a whole', async (t) => {
    const { app, services } = await buildTestApp(t);
    const things = services.mongo.data.collection<{ _id: string }>('things');
    await things.insertOne(Object.assign({ _id: 'u' }, { filling: 'x'.repeat(MIB) }));
    await things.insertMany(Array.from({ length: 12 }, (_, n) => ({ _id: `${n}`, a: Array(15).fill('u') })));
    const few = await app.inject('/api/things?expand=a:things&limit=3');
    t.equal(few.statusCode, 200);
    const all = await app.inject('/api/things?expand=a:things');
    t.equal(all.statusCode, 400, `${all.body.length} bytes`);
    t.match(all.json(), { code: 'response-too-large' });
  });
});

/** Bytes in use by this process. */
function held(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
