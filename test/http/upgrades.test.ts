/** Requests that offer another protocol along the way: they are answered as if they did not, and sockets still open. */
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { WebSocket } from 'ws';
import { buildTestApp } from '../helpers/app.ts';
import { multipart } from '../helpers/files/upload.ts';

/** What Java's HttpClient sends with every request as long as nobody told it to speak HTTP/1.1 alone. */
const OFFER = {
  connection: 'Upgrade, HTTP2-Settings',
  upgrade: 'h2c',
  'http2-settings': 'AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA',
};

t.test('an offer of HTTP/2', async (t) => {
  const { app } = await buildTestApp(t);
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const ports = new Set<number | undefined>();
  const send = (method: string, path: string, headers: object, body?: Buffer | string) =>
    new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const outgoing = request(base + path, { method, agent, headers: { ...OFFER, ...headers } }, (answer) => {
        ports.add(outgoing.socket?.localPort);
        text(answer).then((body) => resolve({ status: answer.statusCode, body }), reject);
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

t.test('a socket still opens', async (t) => {
  const { app } = await buildTestApp(t);
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = new WebSocket(`${base.replace('http', 'ws')}/realtime`, 'millrace.v1');
  t.teardown(() => socket.terminate());
  const status = await new Promise((resolve, reject) => {
    socket.on('upgrade', ({ statusCode }) => resolve(statusCode)).on('error', reject);
  });
  t.equal(status, 101);
});

t.test('who comes to the place of sockets without asking for one is told what is missing', async (t) => {
  const { app } = await buildTestApp(t);
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const answer = await fetch(`${base}/realtime`);
  t.equal(answer.status, 426);
  t.equal(answer.headers.get('upgrade'), 'websocket');
  t.match(answer.headers.get('connection'), /upgrade/i, 'RFC 9110 section 7.8');
  t.match(await answer.json(), { code: 'upgrade-required', hint: /proxy/ });
  t.equal((await fetch(`${base}/realtime`, { method: 'HEAD' })).status, 426);
});
