/**
 * What Node's server and the router reject before any route: as other errors, with their id and the protection headers.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { until } from '../helpers/until.ts';

t.test('errors before any route are problem documents', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_HEADER_TIMEOUT_MS: '1000' });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const host = 'Host: localhost\r\n';
  const ids = new Set<string>();
  for (const [name, sent, status, code] of [
    ['a broken escape in the URL', `GET /api/%zz HTTP/1.1\r\n${host}\r\n`, 400, 'malformed-request'],
    ['a part of the URL that is too long', `GET /api/${'x'.repeat(600)} HTTP/1.1\r\n${host}\r\n`, 414, 'uri-too-long'],
    ['what is not HTTP', 'hello\r\n\r\n', 400, 'malformed-request'],
    ['a request without a host', 'GET /healthz HTTP/1.1\r\n\r\n', 400, 'malformed-request'],
    [
      'headers that are too large',
      `GET / HTTP/1.1\r\n${host}X: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'headers-too-large',
    ],
    ['headers that never end', `GET / HTTP/1.1\r\n${host}`, 408, 'request-timeout'],
  ] as const) {
    await t.test(name, async (t) => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      socket.write(sent.replace(/\r\n\r\n$/, '\r\nConnection: close\r\n\r\n'));
      const response = await text(socket);
      const [head = '', body = ''] = response.split('\r\n\r\n');
      t.match(head, new RegExp(`^HTTP/1\\.1 ${status} `));
      for (const header of [
        /^content-type: application\/problem\+json/im,
        /^x-content-type-options: nosniff\r?$/im,
        /^x-frame-options: DENY\r?$/im,
        /^referrer-policy: no-referrer\r?$/im,
        /^content-security-policy: default-src 'none'; frame-ancestors 'none'\r?$/im,
        /^cross-origin-resource-policy: same-origin\r?$/im,
      ])
        t.match(head, header);
      const [, id = ''] = /^x-request-id: (req_\S+)\r?$/im.exec(head) ?? [];
      t.match(JSON.parse(body), { status, code, request: id });
      t.not(id, '');
      t.notOk(ids.has(id), 'each has its own');
      ids.add(id);
    });
  }
  await t.test('an unknown expectation is ignored', async (t) => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /healthz HTTP/1.1\r\n${host}Expect: wonders\r\nConnection: close\r\n\r\n`);
    t.match(await text(socket), /^HTTP\/1\.1 200 .*x-request-id/is);
  });
});

t.test('pages of an allowed origin can read errors before a route is known', async (t) => {
  const origin = 'capacitor://localhost';
  for (const mode of ['development', 'production']) {
    const { app } = await buildTestApp(t, { MILLRACE_MODE: mode, MILLRACE_CORS_ORIGINS: origin });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const address = app.server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const send = (head: string) => {
      const socket = connect(port, '127.0.0.1');
      socket.write(head);
      return text(socket);
    };
    const from = `Host: localhost\r\nOrigin: ${origin}\r\nConnection: close\r\n`;
    const long = (length: number) => 'x'.repeat(length);
    for (const [name, line, headers, status, code] of [
      ['a broken escape', 'GET /api/%E0%A4%A', from, 400, 'malformed-request'],
      ['a broken escape in an id', 'GET /api/posts/%zz', from, 400, 'malformed-request'],
      ['a long part', `GET /api/${long(600)}`, from, 414, 'uri-too-long'],
      ['a long URL', `GET /api/posts?a=${long(20_000)}`, from, 414, 'uri-too-long'],
      ['a very long URL', `GET /api/posts?a=${long(300_000)}`, from, 431, 'headers-too-large'],
      ['a large header', 'GET /api/posts', `X: ${long(20_000)}\r\n${from}`, 431, 'headers-too-large'],
      ['a very large header', 'GET /api/posts', `${from}X: ${long(300_000)}\r\n`, 431, 'headers-too-large'],
      ['many headers', 'GET /api/posts', `${`X: ${long(100)}\r\n`.repeat(200)}${from}`, 431, 'headers-too-large'],
    ] as const) {
      const reply = await send(`${line} HTTP/1.1\r\n${headers}\r\n`);
      t.match(reply, new RegExp(`^HTTP/1\\.1 ${status} .*"code":"${code}"`, 's'), name);
      t.match(reply, new RegExp(`^access-control-allow-origin: ${origin}\r$`, 'im'), name);
      t.match(reply, /^access-control-expose-headers: .*X-Request-Id/im, name);
      const other = await send(`${line} HTTP/1.1\r\n${headers.replace(origin, 'https://other.example')}\r\n`);
      t.match(other, new RegExp(`^HTTP/1\\.1 ${status} `), `${name}, of another origin`);
      t.notMatch(other, /access-control/i, `${name}, of another origin`);
      const requests = 'Access-Control-Request-Method: GET\r\nAccess-Control-Request-Headers: authorization,x\r\n';
      const preflight = await send(`${line.replace('GET', 'OPTIONS')} HTTP/1.1\r\n${requests}${headers}\r\n`);
      t.match(preflight, /^HTTP\/1\.1 204 /, `the preflight of ${name}`);
      t.match(preflight, /^access-control-allow-headers: .*authorization/im, `the preflight of ${name}`);
      t.match(preflight, /^access-control-allow-methods: .*PATCH/im, `the preflight of ${name}`);
    }
  }
});

t.test('pages can read what the parser rejects after the origin came in an earlier packet', async (t) => {
  const allowed = 'https://app.example.org';
  const settings = { MILLRACE_MODE: 'production', MILLRACE_CORS_ORIGINS: allowed, MILLRACE_HEADER_TIMEOUT_MS: '1000' };
  const { app } = await buildTestApp(t, settings);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  /** Sends each part after the server has read the one before it. */
  const send = async (parts: readonly string[]) => {
    const arrived = once(app.server, 'connection');
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    const [there]: Socket[] = await arrived;
    let sent = 0;
    for (const part of parts) {
      socket.write(part);
      sent += part.length;
      await until(() => (there?.bytesRead ?? 0) >= sent || there?.destroyed === true, 'the server reads it');
    }
    return text(socket);
  };
  const head = `GET /api/posts HTTP/1.1\r\nHost: localhost\r\nOrigin: ${allowed}\r\n`;
  const large = ['x'.repeat(30_000), 'x'.repeat(30_000), '\r\n\r\n'];
  for (const [name, parts, status] of [
    ['a large head', [head, 'X: ', ...large], 431],
    ['a large head, cut inside the origin', [head.slice(0, -6), `${head.slice(-6)}X: `, ...large], 431],
    ['a broken line', [head, 'X\u0000: y\r\n\r\n'], 400],
    ['a head that never ends', [head, 'X: y'], 408],
  ] as const) {
    const reply = await send(parts);
    t.match(reply, new RegExp(`^HTTP/1\\.1 ${status} `), name);
    t.match(reply, /^access-control-allow-origin: \*\r$/im, name);
    t.match(reply, /^access-control-expose-headers: .*X-Request-Id/im, name);
  }
  const whole = await send([`${head}X\u0000: y\r\n\r\n`]);
  t.match(whole, new RegExp(`^access-control-allow-origin: ${allowed}\r$`, 'im'), 'in one packet');
  const other = await send([`${head.replace(allowed, 'https://other.example')}X\u0000: y\r\n\r\n`]);
  t.notMatch(other, /access-control/i, 'of another origin');
});
