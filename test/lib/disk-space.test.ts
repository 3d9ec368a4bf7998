/** What still works while the disk of the embedded database is almost full. */
import t from 'tap';
import { type DiskSpaceLevel, DiskSpaceMonitor, FULL_DISK_BYTES, LOW_DISK_BYTES } from '../../src/lib/disk-space.ts';
import { buildTestApp } from '../helpers/app.ts';
import { countAll, multipart, uploadOne } from '../helpers/files/upload.ts';

let free = LOW_DISK_BYTES;
const levels: DiskSpaceLevel[] = [];
const space = new DiskSpaceMonitor({
  folder: '/',
  measure: async () => free,
  onChange: ({ level }) => void levels.push(level),
});
const { app, services } = await buildTestApp(t, {}, undefined, space);
const setFree = async (bytes: number) => {
  free = bytes;
  await space.look();
};
const send = (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'GET', url: string, payload?: object) =>
  app.inject({ method, url, ...(payload && { payload }) });
const { id } = (await send('POST', '/api/a', { n: 1 })).json();
const other = (await send('POST', '/api/a', { n: 2 })).json();
const file = await uploadOne(app, {});
const upload = await multipart({});
const bulk = { url: '/api/a?n=1', headers: { prefer: 'max-affected=10' } } as const;

t.test('below the limit new documents, changes and files get 507 with the reason, and nothing is stored', async (t) => {
  await setFree(LOW_DISK_BYTES - 1);
  const before = await countAll(services);
  const batch = [{ method: 'POST', path: '/api/a', body: { n: 3 } }];
  const writes = [
    await send('POST', '/api/a', { n: 3 }),
    await send('POST', '/api/new', { n: 3 }),
    await send('POST', '/api/a', [{ n: 3 }, { n: 4 }]),
    await send('PUT', `/api/a/${id}`, { n: 3 }),
    await send('PATCH', `/api/a/${id}`, { n: 3 }),
    await app.inject({ method: 'PATCH', ...bulk, payload: { n: 3 } }),
    await send('POST', '/batch', { operations: batch }),
    await app.inject({ method: 'POST', url: '/files', payload: upload.send, headers: upload.headers }),
  ];
  for (const [index, response] of writes.entries()) {
    t.match(response.json(), { status: 507, code: 'storage-full', detail: /almost full/, hint: /255 MB/ }, `${index}`);
  }
  t.same(
    (await send('GET', '/api/a?sort=n')).json().map(({ n }: { n: number }) => n),
    [1, 2],
  );
  t.same(await countAll(services), before);
});

t.test('below the limit reading and deleting continue, and the status says why writes are rejected', async (t) => {
  t.equal((await send('GET', `/api/a/${id}`)).statusCode, 200);
  t.equal((await send('GET', new URL(file.url).pathname)).statusCode, 200);
  t.equal((await send('DELETE', `/api/a/${id}`)).statusCode, 204);
  t.equal((await send('DELETE', `/files/${file.id}`)).statusCode, 204);
  const { disk } = (await send('GET', '/admin/status')).json();
  t.same(disk, { level: 'low', freeBytes: LOW_DISK_BYTES - 1, neededBytes: LOW_DISK_BYTES });
});

t.test('an upload in progress is cut off when the space runs out, and nothing of it stays', async (t) => {
  await setFree(LOW_DISK_BYTES);
  const before = await countAll(services);
  const base = await app.listen({ port: 0, host: '127.0.0.1' });
  const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(Buffer.from(head + 'a'.repeat(1_000)));
      await setFree(LOW_DISK_BYTES - 1);
      controller.enqueue(Buffer.alloc(500_000, 'b'));
      controller.enqueue(Buffer.from('\r\n--x--\r\n'));
      controller.close();
    },
  });
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const response = await fetch(`${base}/files`, { method: 'POST', headers, body, duplex: 'half' });
  t.match(await response.json(), { status: 507, code: 'storage-full' });
  t.same(await countAll(services), before);
});

t.test('below the second bound deletions are rejected as well, and reading goes on', async (t) => {
  await setFree(FULL_DISK_BYTES - 1);
  const removal = await send('DELETE', `/api/a/${other.id}`);
  t.match(removal.json(), { status: 507, code: 'storage-full', detail: /deletions/ });
  t.equal((await app.inject({ method: 'DELETE', url: '/api/a?n=2', headers: bulk.headers })).statusCode, 507);
  t.equal((await send('GET', `/api/a/${other.id}`)).statusCode, 200);
});

t.test('when there is space again, or it is unknown, writes continue', async (t) => {
  await setFree(LOW_DISK_BYTES);
  t.equal((await send('POST', '/api/a', { n: 5 })).statusCode, 201);
  t.same(levels, ['low', 'enough', 'low', 'full', 'enough']);
  const unknown = new DiskSpaceMonitor({ folder: '/no/such/folder' });
  await unknown.start();
  t.teardown(() => unknown.stop());
  t.same(unknown.state, { level: 'enough', freeBytes: null, neededBytes: LOW_DISK_BYTES });
  unknown.requireRoom();
});
