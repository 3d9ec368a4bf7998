/**
 * Messages of hostile or broken clients over a socket: each ends in a typed error or close, and disturbs no other
 * client.
 */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';
import { until } from '../../helpers/until.ts';
import { signUp } from '../../helpers/users.ts';

t.test('attacks on sockets', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_HEARTBEAT_MS: '1000' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const bystander = await openSocket(t, url);
  bystander.send({ type: 'subscribe', id: 'b', collection: 'calm' });
  await bystander.frame({ type: 'live' });

  const closing: [name: string, messages: (string | Buffer)[], code: number][] = [
    ['no JSON', ['{"type":'], 4400],
    ['no object', ['[1]'], 4400],
    ['no type', ['{"id":"x"}'], 4400],
    ['an empty frame', [''], 4400],
    ['binary', [Buffer.from('{"type":"pong"}')], 4400],
    ['a frame above 64 KiB', [JSON.stringify({ type: 'pong', pad: 'x'.repeat(70_000) })], 4413],
    ['a frame above the socket’s own limit', ['x'.repeat(300_000)], 1009],
    ['a flood of messages', Array.from({ length: 150 }, () => '{"type":"pong"}'), 4529],
    ['a flood of subscriptions', Array.from({ length: 150 }, (_, n) => `{"type":"unsubscribe","id":"${n}"}`), 4529],
  ];
  for (const [name, messages, code] of closing) {
    await t.test(`${name} closes with ${code}`, async (t) => {
      const socket = await openSocket(t, url);
      await socket.frame({ type: 'welcome' });
      for (const message of messages) socket.socket.send(message);
      t.equal((await socket.end()).code, code);
    });
  }

  const response: [name: string, message: string, id: string | undefined, code: string][] = [
    ['an unknown type', '{"type":"shout","id":"x"}', 'x', 'unknown-message'],
    [
      'a prototype key',
      '{"type":"subscribe","id":"p","collection":"a","query":{"__proto__":{}}}',
      'p',
      'unsupported-field-name',
    ],
    ['deep nesting', `{"type":"pong","x":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, undefined, 'json-too-deep'],
    ...[
      ['half a surrogate pair', '"\\ud800"', 'unsupported-value'],
      ['an integer beyond 2^53', '9007199254740993', 'unsupported-value'],
      ['a number beyond a double', '-1e400', 'unsupported-value'],
      ['a value too deep', `${'['.repeat(200)}${']'.repeat(200)}`, 'json-too-deep'],
    ].map(([what = '', value, code = '']): [string, string, string, string] => [
      what,
      `{"query":{"filter":{"a":${value}}},"type":"subscribe","\\u0069d":"u-${what}","collection":"a"}`,
      `u-${what}`,
      code,
    ]),
    [
      'half a surrogate pair in events',
      '{"type":"subscribe","id":"v","events":["a.*"],"filter":{"a":"\\udfff"}}',
      'v',
      'unsupported-value',
    ],
    ['half a pair in the id', '{"type":"unsubscribe","id":"\\ud800"}', undefined, 'unsupported-value'],
    [
      'a filter too deep',
      `{"type":"subscribe","id":"d","collection":"a","query":{"filter":${'{"$not":'.repeat(40)}{}${'}'.repeat(40)}}}`,
      'd',
      'invalid-filter',
    ],
    [
      'an operator that is none',
      '{"type":"subscribe","id":"w","collection":"a","query":{"filter":{"$where":"1"}}}',
      'w',
      'unknown-operator',
    ],
    ['an internal collection', '{"type":"subscribe","id":"i","collection":"_users"}', 'i', 'invalid-collection-name'],
    ['a reserved collection', '{"type":"subscribe","id":"r","collection":"system"}', 'r', 'invalid-collection-name'],
    ['an empty position', '{"type":"subscribe","id":"e","collection":"a","since":""}', 'e', 'invalid-parameter'],
    ['a foreign position', '{"type":"subscribe","id":"f","collection":"a","since":"abc"}', 'f', 'invalid-parameter'],
    [
      'a page cursor',
      '{"type":"subscribe","id":"c","collection":"a","query":{"cursor":"x","limit":1}}',
      'c',
      'unknown-parameter',
    ],
    [
      'a limit of nothing',
      '{"type":"subscribe","id":"l","collection":"a","query":{"limit":0}}',
      'l',
      'invalid-parameter',
    ],
    ['no id', '{"type":"subscribe","collection":"a"}', undefined, 'invalid-parameter'],
    [
      'an id too long',
      `{"type":"subscribe","id":"${'x'.repeat(65)}","collection":"a"}`,
      undefined,
      'invalid-parameter',
    ],
    [
      'too many types',
      `{"type":"subscribe","id":"t","events":${JSON.stringify(Array(51).fill('a.b'))}}`,
      't',
      'invalid-parameter',
    ],
    ['a type of nothing', '{"type":"subscribe","id":"n","events":["todos"]}', 'n', 'invalid-parameter'],
    ['a second hello', '{"type":"hello","token":"x"}', undefined, 'malformed-request'],
    ['nothing to end', '{"type":"unsubscribe","id":"zz"}', 'zz', 'subscription-not-found'],
  ];
  await t.test('a subscription that cannot be followed gets an error, and the socket stays open', async (t) => {
    const socket = await openSocket(t, url);
    await socket.frame({ type: 'welcome' });
    for (const [name, message, id, code] of response) {
      const from = socket.frames.length;
      socket.send(message);
      const result = await socket.frame(({ problem }) => problem !== undefined, from);
      t.equal((result['problem'] as { code?: string }).code, code, name);
      t.equal(result['id'], id, `${name}: id`);
    }
    t.equal(socket.closed, null);
  });

  await t.test('an id in use and the 201st subscription are rejected', async (t) => {
    const socket = await openSocket(t, url);
    await socket.frame({ type: 'welcome' });
    for (let n = 0; n <= 200; n++) {
      socket.send({ type: 'subscribe', id: `s${n}`, events: ['calm.created'] });
      if (n % 50 === 49) await until(() => socket.frames.length >= n, 'answers', 15_000);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    t.match(await socket.frame({ type: 'unsubscribed' }), { id: 's200', problem: { code: 'too-many-subscriptions' } });
    socket.send({ type: 'subscribe', id: 's1', collection: 'calm' });
    t.match(await socket.frame({ type: 'error' }), { id: 's1', problem: { status: 409, code: 'subscription-exists' } });
    t.equal(socket.closed, null);
  });

  await t.test('a client that does not send hello is disconnected', async (t) => {
    const first = await openSocket(t, url, { hello: { type: 'subscribe', id: 's', collection: 'calm' } });
    t.equal((await first.end()).code, 4400);
    const bad = await openSocket(t, url, { hello: { type: 'hello', token: 'wrong' } });
    t.equal((await bad.end()).code, 4401);
    const ticket = await openSocket(t, url, { path: `/realtime?ticket=${'x'.repeat(43)}`, hello: null });
    t.equal((await ticket.end()).code, 4401);
    const silent = await openSocket(t, url, { hello: null });
    t.equal((await silent.end()).code, 4408);
    t.equal(silent.frames.length, 0, 'nothing is sent before');
    await t.rejects(openSocket(t, url, { headers: { authorization: 'Bearer wrong' } }), /401/);
  });

  await t.test('the handshake accepts a header or a ticket, and a ticket once', async (t) => {
    const ann = await signUp(app, 'ann');
    const header = await openSocket(t, url, { headers: ann.headers, hello: null });
    t.match(await header.frame({ type: 'welcome' }), { principal: { kind: 'user', id: ann.id } });
    const result = await app.inject({ method: 'POST', url: '/auth/ticket', headers: ann.headers });
    const path = `/realtime?ticket=${result.json().ticket}`;
    const ticket = await openSocket(t, url, { path, hello: null });
    t.match(await ticket.frame({ type: 'welcome' }), { principal: { kind: 'user', id: ann.id } });
    const again = await openSocket(t, url, { path, hello: null });
    t.equal((await again.end()).code, 4401, 'a ticket works once');
  });

  await t.test('messages right behind a hello belong to its principal', async (t) => {
    const bob = await signUp(app, 'bob');
    const socket = await openSocket(t, url, { hello: { type: 'hello', token: bob.accessToken } });
    socket.send({ type: 'subscribe', id: 's', collection: 'calm', colour: 'red' });
    socket.send({ type: 'subscribe', id: 'calm', collection: 'calm' });
    await socket.frame({ type: 'live', id: 'calm' });
    t.match(socket.frames, [{ type: 'welcome' }, { type: 'unsubscribed', problem: { code: 'unknown-parameter' } }]);
    t.equal(socket.closed, null);
  });

  await t.test('unknown origins and versions are rejected', async (t) => {
    const foreign = await openSocket(t, url, { headers: { origin: 'https://evil.example' } });
    t.equal((await foreign.end()).code, 4403);
    const local = await openSocket(t, url, {
      headers: { origin: 'http://localhost:5173' },
      protocols: ['millrace.v1'],
    });
    t.equal(local.socket.protocol, 'millrace.v1');
    await local.frame({ type: 'welcome' });
    t.equal(await closeCodeOf(url, 'Sec-WebSocket-Protocol: other.v9\r\n', []), 4406);
    // Clients that offer subprotocols fail a connection that confirms none, before they can receive a reason.
    const newer = await openSocket(t, url, { protocols: ['millrace.v9', 'millrace.v10'] });
    t.equal((await newer.end()).code, 4406);
    const both = await openSocket(t, url, { protocols: ['millrace.v9', 'millrace.v1'] });
    t.equal(both.socket.protocol, 'millrace.v1');
  });

  await t.test('bad UTF-8 and a message in a thousand fragments close the socket', async (t) => {
    t.equal(await closeCodeOf(url, '', [frame(0x81, Buffer.from([0xff, 0xfe]))]), 1007);
    const pieces = Array.from({ length: 1_000 }, (_, n) => frame(n === 0 ? 0x01 : 0x00, Buffer.alloc(300, 0x20)));
    t.ok([1008, 1009].includes(await closeCodeOf(url, '', pieces)));
    const pings = Array.from({ length: 300 }, () => frame(0x89, Buffer.alloc(0)));
    // The socket itself disconnects a client that floods faster than responses leave.
    t.ok([4529, 1006].includes(await closeCodeOf(url, '', pings)));
  });

  await t.test('a client that does not respond to the heartbeat is disconnected', async (t) => {
    const socket = await openSocket(t, url);
    socket.responses = false;
    t.equal((await socket.end()).code, 4510);
    t.ok(socket.frames.filter(({ type }) => type === 'ping').length >= 2);
    t.match(await socket.frame({ type: 'bye' }), { code: 4510 });
  });

  await t.test('attacks on sockets disturb no other client', async (t) => {
    await app.inject({ method: 'POST', url: '/api/calm', payload: { id: 'x' } });
    t.match(await bystander.frame({ type: 'change' }), { op: 'enter', documentId: 'x' });
    t.equal(bystander.closed, null);
    t.equal(services.realtime.deps.hub.groups, 1, 'the requests of others are dropped');
  });

  await t.test('a server that closes says when to reconnect', async (t) => {
    const closed = app.close();
    t.match(await bystander.frame({ type: 'bye' }), { code: 4501 });
    t.equal((await bystander.end()).code, 4501);
    await closed;
  });
});

/** A masked client frame of less than 64 KiB. */
function frame(head: number, payload: Buffer): Buffer {
  const mask = Buffer.from([1, 2, 3, 4]);
  const length = payload.length < 126 ? [0x80 | payload.length] : [0xfe, payload.length >> 8, payload.length & 255];
  const masked = Buffer.from(payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0)));
  return Buffer.concat([Buffer.from([head, ...length]), mask, masked]);
}

/** Sends the bytes of a socket by hand; returns the code of the server's close frame, 1006 without one. */
function closeCodeOf(url: string, header: string, frames: readonly Buffer[]): Promise<number> {
  const { hostname, port } = new URL(url);
  const hello = frame(0x81, Buffer.from('{"type":"hello"}'));
  return new Promise((resolve, reject) => {
    const line = connect(Number(port), hostname);
    let seen = Buffer.alloc(0);
    line.setTimeout(10_000, () => reject(new Error('No close frame came')));
    line.on('error', reject);
    line.on('close', () => resolve(1006));
    line.write(
      `GET /realtime HTTP/1.1\r\nHost: ${hostname}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n${header}\r\n`,
    );
    for (const one of [hello, ...frames]) line.write(one);
    line.on('data', (chunk) => {
      seen = Buffer.concat([seen, chunk]);
      const start = seen.indexOf('\r\n\r\n') + 4;
      for (let at = start; start > 4 && at + 4 <= seen.length; ) {
        const short = (seen[at + 1] ?? 0) & 0x7f;
        if (seen[at] === 0x88) {
          line.destroy();
          resolve(seen.readUInt16BE(at + 2));
          return;
        }
        at += short < 126 ? 2 + short : 4 + seen.readUInt16BE(at + 2);
      }
    });
  });
}
