/**
 * In production the server responds under the host of MILLRACE_PUBLIC_URL: no page reaches it under another name that
 * resolves to it.
 */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';

const PUBLIC_URL = 'https://api.example.org';

t.test('the public host of a server', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_PUBLIC_URL: PUBLIC_URL });
  const request = (host: string, url = '/auth/providers', headers: Record<string, string> = {}) =>
    app.inject({ url, headers: { ...headers, host } });

  await t.test('the public host is accepted in any spelling, and so is this machine', async (t) => {
    for (const host of [
      'api.example.org',
      'api.example.org:443',
      'api.example.org:8443',
      'API.Example.ORG',
      'api.example.org.',
      'api.example.org.:443',
      'localhost',
      'localhost:3000',
      '127.0.0.1:3000',
      '[::1]:3000',
    ]) {
      t.equal((await request(host)).statusCode, 200, host);
    }
  });

  await t.test('the host of the public URL is the only one', async (t) => {
    for (const host of [
      'evil.example',
      'api.example.org.evil.example',
      'api.example.org@evil.example',
      'evil.example@api.example.org',
      'api.example.org/evil.example',
      'sub.api.example.org',
      'example.org',
      '127.0.0.1.evil.example',
      '10.0.0.7:3000',
      '[2001:db8::1]',
      ' ',
    ]) {
      for (const url of ['/auth/providers', '/api/todos', '/setup', '/realtime', '/nothing', '/docs']) {
        const refused = await request(host, url);
        t.match(refused.json(), { status: 421, code: 'misdirected-request', hint: /MILLRACE_PUBLIC_URL/ }, host + url);
      }
    }
    const forwarded = { 'x-forwarded-host': 'api.example.org' };
    t.equal(
      (await request('evil.example', '/docs', forwarded)).statusCode,
      421,
      'the headers of an untrusted proxy are ignored',
    );
    t.notMatch((await request('evil.example')).body, /api\.example/, 'unauthenticated clients do not learn its name');
  });

  await t.test('health routes respond under any host', async (t) => {
    for (const url of ['/healthz', '/readyz']) t.equal((await request('10.0.0.7:3000', url)).statusCode, 200, url);
  });

  await t.test('sockets for other hosts, or without a host, are rejected before they open', async (t) => {
    await app.listen({ host: '127.0.0.1', port: 0 });
    const address = app.server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const say = (lines: readonly string[]) => {
      const socket = connect(port, '127.0.0.1');
      socket.write(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`);
      return text(socket);
    };
    const upgrade = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `GET /realtime HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\n${upgrade.join('\r\n')}\r\n\r\n`,
    );
    t.match(await text(socket), /^HTTP\/1\.1 421 /);
    t.match(await say(['GET /auth/providers HTTP/1.0']), /^HTTP\/1\.1 421 /);
    t.match(await say(['GET /healthz HTTP/1.0']), /^HTTP\/1\.1 200 /);
  });
});

t.test('behind a trusted proxy, the host is the forwarded one', async (t) => {
  const { app } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_PUBLIC_URL: PUBLIC_URL,
    MILLRACE_TRUST_PROXY: '127.0.0.1',
  });
  const status = async (forwarded: string) =>
    (await app.inject({ url: '/auth/providers', headers: { host: 'millrace:3000', 'x-forwarded-host': forwarded } }))
      .statusCode;
  t.equal(await status('api.example.org'), 200);
  t.equal(await status('evil.example'), 421);
  t.equal((await app.inject({ url: '/auth/providers', headers: { host: 'millrace:3000' } })).statusCode, 421);
});

t.test('the public host may be an IP address', async (t) => {
  const settings = { MILLRACE_MODE: 'production', MILLRACE_PUBLIC_URL: 'http://[2001:db8::1]:3000' };
  const { app } = await buildTestApp(t, settings);
  const status = async (host: string) => (await app.inject({ url: '/auth/providers', headers: { host } })).statusCode;
  for (const host of ['[2001:db8::1]:3000', '[2001:DB8:0:0::1]', '[2001:db8::1]'])
    t.equal(await status(host), 200, host);
  for (const host of ['[2001:db8::2]:3000', '2001:db8::1', '[2001:db8::1', '[]'])
    t.equal(await status(host), 421, host);
});
