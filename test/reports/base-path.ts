/** Reports about URLs with a path: of the server, and of its S3 endpoint. */
import assert from 'node:assert/strict';
import { WebSocket } from 'ws';
import { startPathS3 } from '../helpers/files/path-s3.ts';
import type { Product, Report } from './report.ts';

const BASE = '/backend';
const JSON_HEADERS = { 'content-type': 'application/json' };
const ADMIN = JSON.stringify({ username: 'ada@example.org', password: 'four wooden ships sail' });

async function socketOpens(url: string): Promise<void> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/realtime`, 'millrace.v1');
  await new Promise((done, failed) => socket.on('open', done).on('error', failed));
  socket.close();
}

async function upload(it: Product, name: string): Promise<{ readonly id: string; readonly url: string }> {
  const form = new FormData();
  form.set('file', new Blob(['hello']), name);
  const headers = { authorization: `Bearer ${it.admin}` };
  const response = await fetch(`${it.url}/files`, { method: 'POST', headers, body: form });
  assert.equal(response.status, 200);
  return (await response.json()) as { id: string; url: string };
}

async function servesBelowPath(it: Product, publicUrl: string): Promise<void> {
  const { origin } = new URL(it.url);
  for (const at of [origin, `${origin}${BASE}`]) {
    const headers = { authorization: `Bearer ${it.admin}`, 'content-type': 'application/json' };
    const created = await fetch(`${at}/api/todos`, { method: 'POST', headers, body: '{"title":"a"}' });
    assert.match(created.headers.get('location') ?? '', /^\/backend\/api\/todos\//);
    const page = await fetch(`${at}/api/todos?limit=1`, { headers });
    assert.equal(page.status, 200);
    const openApi = (await (await fetch(`${at}/openapi.json`, { headers })).json()) as { servers: unknown };
    assert.deepEqual(openApi.servers, [{ url: BASE }]);
    const setUp = await fetch(`${at}/setup`, { redirect: 'manual' });
    assert.equal(setUp.headers.get('location'), '/backend/dashboard/setup');
    await socketOpens(at);
    const signedIn = await fetch(`${at}/dashboard/session`, { method: 'POST', headers: JSON_HEADERS, body: ADMIN });
    assert.equal(signedIn.status, 200, `${at}/dashboard/session`);
    assert.match(signedIn.headers.get('set-cookie') ?? '', /; Path=\/backend;/);
    for (const path of ['/signin', '/dashboard', '/healthz', '/auth/providers']) {
      assert.equal((await fetch(`${at}${path}`, { headers: { accept: '*/*' } })).status, 200, path);
    }
  }
  assert.equal((await fetch(`${origin}/backendx/healthz`)).status, 404);
  const file = await upload(it, 'a.txt');
  assert.equal(file.url, `${publicUrl}/files/${file.id}/a.txt`);
  const signed = await it.call('POST', `/files/${file.id}/sign`, { body: {} });
  const { pathname, search } = new URL(signed.body.url);
  assert.equal((await fetch(`${origin}${pathname}${search}`)).status, 200);
}

export const reports: readonly Report[] = [
  {
    point: 'A6',
    title: 'A public URL with a path, or MILLRACE_BASE_PATH, works with and without the path in requests',
    async run(product) {
      const publicUrl = 'http://localhost:3000/backend';
      await servesBelowPath(await product.another({ MILLRACE_PUBLIC_URL: `${publicUrl}/` }), publicUrl);
      const it = await product.another({ MILLRACE_BASE_PATH: BASE });
      assert.match(it.url, /\/backend$/);
      await servesBelowPath(it, it.url);
    },
  },
  {
    point: 'A6',
    title: 'Files are kept in a bucket whose endpoint has a path',
    async run(product) {
      const endings: (() => unknown)[] = [];
      const s3 = await startPathS3({ teardown: (end) => endings.push(end) });
      try {
        const keys = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' };
        const it = await product.another({ MILLRACE_FILE_STORAGE: `s3://pictures?endpoint=${s3.endpoint}`, ...keys });
        const file = await upload(it, 'a.txt');
        const { pathname } = new URL(file.url);
        assert.equal((await it.call('GET', pathname)).body, 'hello');
        assert.equal(s3.objects.size, 1);
        assert.deepEqual(s3.misdirected, []);
      } finally {
        for (const end of endings) await end();
      }
    },
  },
];
