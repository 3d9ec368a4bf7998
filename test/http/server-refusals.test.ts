/** What Node's server and the router refuse before any route: as other refusals, with their id and the protection headers. */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';

t.test('refusals before any route', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_HEADER_TIMEOUT_MS: '1000' });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const host = 'Host: localhost\r\n';
  const ids = new Set<string>();
  for (const [name, sent, status, code] of [
    ['a broken escape in the address', `GET /api/%zz HTTP/1.1\r\n${host}\r\n`, 400, 'malformed-request'],
    [
      'a part of the address that is too long',
      `GET /api/${'x'.repeat(600)} HTTP/1.1\r\n${host}\r\n`,
      414,
      'uri-too-long',
    ],
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
      const answer = await text(socket);
      const [head = '', body = ''] = answer.split('\r\n\r\n');
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
  await t.test('an expectation that is not known is passed over', async (t) => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /healthz HTTP/1.1\r\n${host}Expect: wonders\r\nConnection: close\r\n\r\n`);
    t.match(await text(socket), /^HTTP\/1\.1 200 .*x-request-id/is);
  });
});
