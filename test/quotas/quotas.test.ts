/** Quotas: every way of creating documents and files is rejected beyond the limit, and a deletion frees its room. */
import t from 'tap';
import { buildTestApp, type TestApp } from '../helpers/app.ts';
import { multipart } from '../helpers/files/upload.ts';
import { testMongo } from '../helpers/mongo.ts';
import { key, owner, speakingAs, user } from '../helpers/principals.ts';
import { until } from '../helpers/until.ts';
import { signUp } from '../helpers/users.ts';

type Headers = Record<string, string>;
type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Sends JSON, or a form as it is. */
function send({ app }: TestApp, method: Method, url: string, headers: Headers, body?: object) {
  const payload = body === undefined ? {} : { payload: body };
  return app.inject({ method, url, headers, ...payload });
}

async function upload({ app }: TestApp, url: string, headers: Headers, ...bytes: readonly string[]) {
  const field = url === '/files' ? 'file' : 'files';
  const form = await multipart(...bytes.map((one) => ({ field, bytes: one })));
  return app.inject({ method: 'POST', url, payload: form.send, headers: { ...headers, ...form.headers } });
}

/** Waits until the database counts so many documents and files of a principal. */
async function counted({ services }: TestApp, id: string, documents: number, files = 0): Promise<void> {
  await until(async () => {
    const counts = services.mongo.log.collection<{ _id: string; documents: number; files: number }>('quota_counts');
    const found = await counts.findOne({ _id: `by:${id}` });
    return (found?.documents ?? 0) === documents && (found?.files ?? 0) === files;
  }, `${id} has ${documents} documents and ${files} files`);
}

/** Waits for the first full count. */
async function begun({ services }: TestApp): Promise<void> {
  const counts = services.mongo.log.collection<{ _id: string }>('quota_counts');
  await until(async () => (await counts.findOne({ _id: 'state' })) !== null, 'everything was counted once');
}

const REFUSED = { statusCode: 403, body: /"quota-exceeded"/ };

t.test('quotas of documents', async (t) => {
  const testDatabase = await testMongo(t);
  const one = await buildTestApp(t, { MILLRACE_QUOTA_DOCUMENT_COUNT_PER_USER: '3' }, testDatabase);
  const as = speakingAs(one.services);
  await begun(one);
  const stored = () => one.services.mongo.data.collection('notes').countDocuments({ '_meta.createdBy': 'u1' });
  const ann = as(user('u1'));

  await t.test('documents up to the quota are created, one by one and in parallel', async (t) => {
    for (const n of [1, 2, 3]) t.equal((await send(one, 'POST', '/api/notes', ann, { id: `a${n}` })).statusCode, 201);
  });

  const batch = { operations: [{ method: 'POST', path: '/api/notes', body: { n: 1 } }] };
  const ways: readonly [string, Method, string, Headers, object][] = [
    ['a create', 'POST', '/api/notes', {}, { n: 1 }],
    ['a bulk create', 'POST', '/api/notes', {}, [{ n: 1 }, { n: 2 }]],
    ['an upsert', 'PUT', '/api/notes/new1?upsert=true', {}, { n: 1 }],
    ['a PUT of a new document', 'PUT', '/api/notes/new2', { 'if-none-match': '*' }, { n: 1 }],
    ['a batch', 'POST', '/batch', {}, batch],
    ['a keyed create', 'POST', '/api/notes', { 'idempotency-key': 'k1' }, { n: 1 }],
    ['a keyed batch', 'POST', '/batch', { 'idempotency-key': 'k2' }, batch],
    ['a create in a new collection', 'POST', '/api/others', {}, { n: 1 }],
  ];
  for (const [name, method, url, headers, body] of ways) {
    await t.test(`${name} beyond the quota is rejected and writes nothing`, async (t) => {
      t.match(await send(one, method, url, { ...ann, ...headers }, body), REFUSED);
      t.equal(await stored(), 3);
    });
  }

  await t.test('changes of existing documents are not rejected by a quota', async (t) => {
    t.equal((await send(one, 'PUT', '/api/notes/a1?upsert=true', ann, { n: 2 })).statusCode, 200);
    t.equal((await send(one, 'PATCH', '/api/notes/a1', ann, { n: 3 })).statusCode, 200);
  });

  await t.test('a transaction counts what it has created itself, and releases it when it fails', async (t) => {
    const bob = as(user('u2'));
    const four = Array.from({ length: 4 }, () => ({ method: 'POST', path: '/api/notes', body: {} }));
    t.match(await send(one, 'POST', '/batch', bob, { operations: four }), { ...REFUSED, body: /"failedOperation":3/ });
    t.equal((await send(one, 'POST', '/batch', bob, { operations: four.slice(1) })).statusCode, 200);
    t.match(await send(one, 'POST', '/api/notes', bob, {}), REFUSED);
  });

  await t.test('a failed create uses no quota', async (t) => {
    const cid = as(user('u3'));
    for (let n = 0; n < 5; n++) t.equal((await send(one, 'POST', '/api/notes', cid, { id: 'a1' })).statusCode, 409);
    t.equal((await send(one, 'POST', '/api/notes', cid, [{}, {}, {}])).statusCode, 201);
  });

  await t.test('a key has its own quota', async (t) => {
    const program = as(key('k1'));
    t.equal((await send(one, 'POST', '/api/notes', program, [{}, {}, {}])).statusCode, 201);
    t.match(await send(one, 'POST', '/api/notes', program, {}), REFUSED);
  });

  await t.test('administrators and anonymous clients have no quota', async (t) => {
    const five = Array.from({ length: 5 }, () => ({}));
    t.equal((await send(one, 'POST', '/api/notes', as(owner()), five)).statusCode, 201);
    t.equal((await send(one, 'POST', '/api/notes', {}, five)).statusCode, 201);
  });

  await t.test('a deletion frees quota', async (t) => {
    await counted(one, 'u1', 3);
    t.equal((await send(one, 'DELETE', '/api/notes/a1', ann)).statusCode, 204);
    await counted(one, 'u1', 2);
    t.equal((await send(one, 'POST', '/api/notes', { ...ann, 'idempotency-key': 'k1' }, { n: 1 })).statusCode, 201);
    t.match(await send(one, 'POST', '/api/notes', ann, {}), REFUSED);
    await counted(one, 'u1', 3);
  });

  await t.test('another process has the same quota counts', async (t) => {
    const two = await buildTestApp(t, { MILLRACE_QUOTA_DOCUMENT_COUNT_PER_USER: '3' }, testDatabase);
    t.match(await send(two, 'POST', '/api/notes', speakingAs(two.services)(user('u1')), {}), REFUSED);
  });

  await t.test('a dropped collection frees the quota of all its documents', async (t) => {
    await one.services.mongo.data.collection('notes').drop();
    await counted(one, 'u1', 0);
    t.equal((await send(one, 'POST', '/api/notes', ann, [{}, {}, {}])).statusCode, 201);
  });
});

t.test('quotas of files and their bytes', async (t) => {
  const one = await buildTestApp(t, {
    MILLRACE_QUOTA_FILE_COUNT_PER_USER: '3',
    MILLRACE_QUOTA_FILE_BYTES_PER_USER: '10',
  });
  // Real users: an upload checks its rights again when it commits.
  const [first, second] = [await signUp(one.app, 'ann'), await signUp(one.app, 'bob')];
  await begun(one);
  const { data, files } = one.services.mongo;
  const nothingLeft = async (own: number) => {
    await until(async () => (await files.collection('files.files').countDocuments()) === own, 'bytes are taken back');
    return data.collection('_files').countDocuments();
  };

  await t.test('uploads beyond the quota of files are rejected and leave no bytes', async (t) => {
    const ann = { ...first.headers };
    t.equal((await upload(one, '/files/bulk', ann, 'a', 'b')).statusCode, 200);
    t.match(await upload(one, '/files/bulk', ann, 'c', 'd'), REFUSED);
    t.equal((await upload(one, '/files', ann, 'c')).statusCode, 200);
    t.match(await upload(one, '/files', ann, 'd'), REFUSED);
    t.equal(await nothingLeft(3), 3);
    t.equal((await send(one, 'POST', '/api/notes', ann, {})).statusCode, 201, 'documents have no bound');
  });

  await t.test('uploads beyond the byte quota are rejected, and a deletion frees them', async (t) => {
    const bob = { ...second.headers };
    const file = await upload(one, '/files', bob, '12345678');
    t.equal(file.statusCode, 200);
    t.match(await upload(one, '/files', bob, '123'), REFUSED);
    t.equal(await nothingLeft(4), 4);
    t.equal((await upload(one, '/files', bob, '12')).statusCode, 200);
    await counted(one, second.id, 0, 2);
    t.match(await upload(one, '/files', bob, '1'), REFUSED);
    t.equal((await send(one, 'DELETE', `/files/${file.json().id}`, bob)).statusCode, 204);
    await counted(one, second.id, 0, 1);
    t.equal((await upload(one, '/files', bob, '12345678')).statusCode, 200);
  });
});

t.test('existing documents are counted once, and a restart continues the count', async (t) => {
  const testDatabase = await testMongo(t, { isNew: true });
  await t.test('no quota without a setting', async (t) => {
    const before = await buildTestApp(t, {}, testDatabase);
    const five = Array.from({ length: 5 }, () => ({}));
    t.equal((await send(before, 'POST', '/api/notes', speakingAs(before.services)(user('u1')), five)).statusCode, 201);
    const names = (await before.services.mongo.log.listCollections({ name: /quota/ }).toArray()).map(
      ({ name }) => name,
    );
    t.strictSame(names, [], 'without a setting there is no collection');
    const cursor = await before.services.mongo.log.collection<{ _id: string }>('consumers').findOne({ _id: 'quotas' });
    t.equal(cursor, null, 'and no consumer');
  });

  for (const start of ['first', 'second']) {
    await t.test(`quotas at the ${start} start`, async (t) => {
      const next = await buildTestApp(t, { MILLRACE_QUOTA_DOCUMENT_COUNT_PER_USER: '6' }, testDatabase);
      const ann = speakingAs(next.services)(user('u1'));
      await begun(next);
      t.equal((await send(next, 'POST', '/api/notes', ann, {})).statusCode, start === 'first' ? 201 : 403);
      t.match(await send(next, 'POST', '/api/notes', ann, {}), REFUSED);
    });
  }
});

t.test('fifty creates at once in two processes exceed the quota by what one process saw free, at most', async (t) => {
  const testDatabase = await testMongo(t);
  const settings = { MILLRACE_QUOTA_DOCUMENT_COUNT_PER_USER: '10' };
  const apps = [await buildTestApp(t, settings, testDatabase), await buildTestApp(t, settings, testDatabase)];
  const responses = await Promise.all(
    apps.map(async (one) => {
      const ann = speakingAs(one.services)(user('u1'));
      await begun(one);
      const all = await Promise.all(Array.from({ length: 25 }, () => send(one, 'POST', '/api/notes', ann, {})));
      return all.map(({ statusCode }) => statusCode);
    }),
  );
  const created = responses.flat().filter((status) => status === 201).length;
  t.strictSame(new Set(responses.flat()), new Set([201, 403]));
  t.ok(created >= 10 && created <= 20, `${created} were made`);
  for (const own of responses) t.ok(own.filter((status) => status === 201).length <= 10);
  const [one] = apps;
  if (one === undefined) throw new Error('There are two');
  await counted(one, 'u1', created);
  t.match(await send(one, 'POST', '/api/notes', speakingAs(one.services)(user('u1')), {}), REFUSED);
});
