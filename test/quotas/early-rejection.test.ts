/** Uploads without room left: rejected while the body is still being sent, before anything of it is stored. */
import http from 'node:http';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { countAll, multipart } from '../helpers/files/upload.ts';
import { until } from '../helpers/until.ts';
import { signUp } from '../helpers/users.ts';

const HELLO_BYTES = '5';

for (const [what, settings] of [
  ['files', { MILLRACE_QUOTA_FILE_COUNT_PER_USER: '1' }],
  ['bytes', { MILLRACE_QUOTA_FILE_BYTES_PER_USER: HELLO_BYTES }],
] as const) {
  t.test(`an upload without room for ${what} is rejected before its body is read`, async (t) => {
    const { app, services } = await buildTestApp(t, settings);
    const base = await app.listen({ host: '127.0.0.1', port: 0 });
    const [{ id, headers }, other] = [await signUp(app, 'ann'), await signUp(app, 'bob')];
    const counts = services.mongo.log.collection<{ _id: string }>('quota_counts');
    await until(async () => (await counts.findOne({ _id: 'state' })) !== null, 'everything was counted once');

    /** Sends the beginning of a file and waits: the response, or null when bytes of it are stored. */
    async function begin(path: string, as: object): Promise<{ status: number; body: string } | null> {
      const before = (await countAll(services)).marks;
      const field = path === '/files' ? 'file' : 'files';
      const request = http.request(base + path, {
        method: 'POST',
        agent: false,
        headers: { ...as, 'content-type': 'multipart/form-data; boundary=b' },
      });
      t.teardown(() => request.destroy());
      let result: { status: number; body: string } | null = null;
      request.on('error', () => {});
      request.on('response', async (response) => {
        let body = '';
        for await (const text of response.setEncoding('utf8')) body += text;
        result = { status: response.statusCode ?? 0, body };
      });
      request.write(`--b\r\ncontent-disposition: form-data; name="${field}"; filename="a"\r\n\r\n`);
      request.write(Buffer.alloc(200_000));
      await until(async () => result !== null || (await countAll(services)).marks > before, 'it is refused or stored');
      return result;
    }

    const { send, headers: type } = await multipart({ bytes: 'hello' });
    const created = await app.inject({
      method: 'POST',
      url: '/files',
      payload: send,
      headers: { ...headers, ...type },
    });
    t.equal(created.statusCode, 200, 'up to the quota there is room');
    const counted = { _id: `by:${id}`, files: 1 };
    await until(async () => (await counts.findOne(counted)) !== null, 'the file is counted');
    const stored = await countAll(services);
    for (const path of ['/files', '/files/bulk']) {
      t.match(await begin(path, headers), { status: 403, body: /"quota-exceeded"/ }, path);
    }
    t.strictSame(await countAll(services), stored, 'nothing of it was taken in');
    t.equal(await begin('/files', other.headers), null, 'somebody with room is not refused');
  });
}
