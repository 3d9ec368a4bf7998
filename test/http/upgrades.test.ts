/** Requests that offer another protocol: they get a response as if they did not, and sockets still open. */
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { WebSocket } from 'ws';
import { buildTestApp } from '../helpers/app.ts';
import { multipart } from '../helpers/files/upload.ts';

/** What Java's HttpClient sends with every request unless it is limited to HTTP/1.1. */
const OFFER = {
  connection: 'Upgrade, HTTP2-Settings',
  upgrade: 'h2c',
  'http2-settings': 'AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA',
};

t.test('an offer of HTTP/2 is ignored', async (t) => {
  const { app } = await buildTestApp(t);
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const ports = new Set<number | undefined>();
  const send = (method: string, path: string, headers: object, body?: Buffer | string) =>
    new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const outgoing = request(base + path, { method, agent, headers: { ...OFFER, ...headers } }, (response) => {
        ports.add(outgoing.socket?.localPort);
        text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
      });
      outgoing.on('error', reject).end(body);
    });
  const json = { 'content-type': 'application/json' };

  t.match(await send('POST', '/api/x', json, '{"h2c":1}'), { status: 201, body: /"h2c":1/ });
  const upload = await multipart({ name: 'java.txt', bytes: 'from Java' });
  t.match(await send('POST', '/files', upload.headers, upload.send), { status: 200, body: /"name":"java.txt"/ });
  t.match(await send('GET', '/api/x', {}), { status: 200, body: /^\[\{.*"h2c":1/ });
  t.equal(ports.size, 1, 'the connection is kept');
});

t.test('a WebSocket still opens beside offers of other protocols', async (t) => {
  const { app } = await buildTestApp(t);
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = new WebSocket(`${base.replace('http', 'ws')}/realtime`, 'millrace.v1');
  t.teardown(() => socket.terminate());
  const status = await new Promise((resolve, reject) => {
    socket.on('upgrade', ({ statusCode }) => resolve(statusCode)).on('error', reject);
  });
  t.equal(status, 101);
});

t.test('a request to the socket path without an upgrade gets an error that says what is missing', async (t) => {
  const { app } = await buildTestApp(t);
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const response = await fetch(`${base}/realtime`);
  t.equal(response.status, 426);
  t.equal(response.headers.get('upgrade'), 'websocket');
  t.match(response.headers.get('connection'), /upgrade/i, 'RFC 9110 section 7.8');
  t.match(await response.json(), { code: 'upgrade-required', hint: /proxy/ });
  t.equal((await fetch(`${base}/realtime`, { method: 'HEAD' })).status, 426);
});
