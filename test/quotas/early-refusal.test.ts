/** Uploads of who has no room left: refused while the body is still being sent, before anything of it is stored. */
import http from 'node:http';
import t from 'tap';
import { signUp } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { countAll, multipart } from '../helpers/files/upload.ts';
import { until } from '../helpers/until.ts';

const HELLO_BYTES = '5';

for (const [what, settings] of [
  ['files', { MILLRACE_QUOTA_FILES: '1' }],
  ['bytes', { MILLRACE_QUOTA_BYTES: HELLO_BYTES }],
] as const) {
  t.test(`an upload without room for ${what} is refused before its body is read`, async (t) => {
    const { app, parts } = await buildTestApp(t, settings);
    const base = await app.listen({ host: '127.0.0.1', port: 0 });
    const [{ id, headers }, other] = [await signUp(app, 'ann'), await signUp(app, 'bob')];
    const counts = parts.mongo.log.collection<{ _id: string }>('quota_counts');
    await until(async () => (await counts.findOne({ _id: 'state' })) !== null, 'everything was counted once');

    /** Sends the beginning of a file and waits: the answer, or null when bytes of it are stored. */
    async function begin(path: string, as: object): Promise<{ status: number; body: string } | null> {
      const before = (await countAll(parts)).marks;
      const field = path === '/files' ? 'file' : 'files';
      const request = http.request(base + path, {
        method: 'POST',
        agent: false,
        headers: { ...as, 'content-type': 'multipart/form-data; boundary=b' },
      });
      t.teardown(() => request.destroy());
      let answer: { status: number; body: string } | null = null;
      request.on('error', () => {});
      request.on('response', async (response) => {
        let body = '';
        for await (const text of response.setEncoding('utf8')) body += text;
        answer = { status: response.statusCode ?? 0, body };
      });
      request.write(`--b\r\ncontent-disposition: form-data; name="${field}"; filename="a"\r\n\r\n`);
      request.write(Buffer.alloc(200_000));
      await until(async () => answer !== null || (await countAll(parts)).marks > before, 'it is refused or stored');
      return answer;
    }

    const { send, headers: type } = await multipart({ bytes: 'hello' });
    const made = await app.inject({ method: 'POST', url: '/files', payload: send, headers: { ...headers, ...type } });
    t.equal(made.statusCode, 200, 'up to the quota there is room');
    const counted = { _id: `by:${id}`, files: 1 };
    await until(async () => (await counts.findOne(counted)) !== null, 'the file is counted');
    const stored = await countAll(parts);
    for (const path of ['/files', '/files/bulk']) {
      t.match(await begin(path, headers), { status: 403, body: /"quota-exceeded"/ }, path);
    }
    t.strictSame(await countAll(parts), stored, 'nothing of it was taken in');
    t.equal(await begin('/files', other.headers), null, 'somebody with room is not refused');
  });
}
