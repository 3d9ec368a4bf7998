/** Reports about clients, proxies and the addresses of both. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { startLyingProvider } from '../helpers/providers/lying-provider.ts';
import { newBrowser, newClient } from '../helpers/providers/sign-in-fixture.ts';
import type { Product, Report } from './report.ts';

const APP_ORIGINS = ['capacitor://localhost', 'ionic://localhost', 'tauri://localhost', 'app://bundle'];
const NATIVE = [
  'com.example.app:/signed-in',
  'myapp://signed-in',
  'exp://192.168.1.5:8081/--/in',
  'http://127.0.0.1:5555/cb',
];
const NO_APPS = [
  'javascript:alert(1)',
  'javascript://app/%0aalert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'intent://app/',
  'COM.example.app:/signed-in',
  'com.example.app:signed-in',
  'com.example.app:/*',
  'com.example.app:/x?next=1',
];

async function appOrigins(product: Product): Promise<void> {
  const { call, url } = await product.another({ MILLRACE_CORS_ORIGINS: APP_ORIGINS.join(', ') });
  for (const [origin, isAllowed] of [
    ...APP_ORIGINS.map((one) => [one, true] as const),
    ['app://other', false] as const,
  ]) {
    const requests = { 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'authorization' };
    const expected = isAllowed ? origin : null;
    const allowed = ({ headers }: { headers: Headers }) => headers.get('access-control-allow-origin');
    assert.equal(
      allowed(await call('OPTIONS', '/api/notes', { headers: { origin, ...requests }, token: null })),
      expected,
    );
    assert.equal(allowed(await call('GET', '/api/notes', { headers: { origin } })), expected);
    const socket = new WebSocket(`${url.replace('http', 'ws')}/realtime`, 'millrace.v1', { origin });
    socket.once('open', () => socket.send('{"type":"hello"}'));
    if (isAllowed) assert.match(String((await once(socket, 'message'))[0]), /"welcome"/);
    else assert.equal((await once(socket, 'close'))[0], 4403);
    socket.terminate();
  }
}

/** The last id of a stream, once it has one that `fits`. */
async function lastId(response: Response, fits: RegExp): Promise<string> {
  let [text, id] = ['', ''];
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    id = [...text.matchAll(/^id: (.*)\n/gm)].at(-1)?.[1] ?? '';
    if (fits.test(text) && id !== '') break;
  }
  return id;
}

async function reconnects(product: Product): Promise<void> {
  const origin = 'https://app.example.org';
  const { call, url, admin } = await product.another({ MILLRACE_CORS_ORIGINS: `${origin},https://b.example.org` });
  const { ticket } = (await call('POST', '/auth/ticket')).body;
  const follow = (id: string | null, path = '/api/notes', from = origin) =>
    fetch(`${url}${path}?ticket=${ticket}`, {
      headers: { accept: 'text/event-stream', origin: from, ...(id === null ? {} : { 'last-event-id': id }) },
    });
  let id = await lastId(await follow(null), /event: live/);
  for (const n of [1, 2, 3]) {
    await call('POST', '/api/notes', { body: { id: `n${n}` } });
    const response = await follow(id);
    assert.equal(response.headers.get('access-control-allow-origin'), origin);
    id = await lastId(response, new RegExp(`event: change\\n.*"n${n}"`));
  }
  for (const refused of [
    follow(null),
    follow(id.split('~')[0] ?? ''),
    follow(id, '/api/others'),
    follow(id, '/api/notes', 'https://b.example.org'),
  ]) {
    assert.equal((await refused).status, 401);
  }
  assert.equal((await call('POST', '/auth/logout', { token: admin })).status, 204);
  assert.equal((await follow(id)).status, 401);
}

async function nativeRedirects(product: Product): Promise<void> {
  const ends: (() => unknown)[] = [];
  const liar = await startLyingProvider({ teardown: (end: () => unknown) => void ends.push(end) } as never);
  try {
    const { url, call } = await product.another({
      MILLRACE_EGRESS_ALLOW: '127.0.0.0/8, ::1/128',
      MILLRACE_REGISTRATION: 'open',
    });
    for (const redirect of NO_APPS) {
      const { status } = await call('PATCH', '/admin/settings', { body: { redirectUrls: [redirect] } });
      assert.equal(status, 400, redirect);
    }
    assert.equal((await call('PATCH', '/admin/settings', { body: { redirectUrls: NATIVE } })).status, 200);
    const { issuer, clientId, clientSecret } = liar;
    const provider = { name: 'acme', kind: 'oidc', issuer, clientId, clientSecret, register: true, pkce: false };
    assert.equal((await call('POST', '/admin/providers', { body: provider })).status, 201);
    for (const redirect of [...NATIVE, 'http://127.0.0.1:60123/cb']) {
      const { challenge, verifier } = newClient();
      const begin = (to: string, more: Record<string, string> = { code_challenge: challenge }) =>
        `${url}/auth/providers/acme?${new URLSearchParams({ redirect: to, code_challenge_method: 'S256', ...more })}`;
      const { url: end } = await newBrowser({ apps: ['null', new URL(redirect).origin] }).goto(begin(redirect));
      assert.ok(end.href.startsWith(`${redirect}?code=`), end.href);
      const body = { code: end.searchParams.get('code'), codeVerifier: verifier };
      assert.equal((await call('POST', '/auth/exchange', { body, token: null })).status, 200);
      const refused = await fetch(begin(redirect, {}), { redirect: 'manual' });
      assert.ok(refused.headers.get('location')?.startsWith(`${redirect}?error=invalid-parameter`));
      for (const other of [`${redirect}/x`, `${redirect}?x=1`, redirect.toUpperCase(), 'javascript:alert(1)']) {
        const response = await fetch(begin(other), { redirect: 'manual' });
        assert.deepEqual([response.status, response.headers.get('location')], [400, null], other);
      }
    }
  } finally {
    for (const end of ends) await end();
  }
}

export const reports: readonly Report[] = [
  {
    point: 'A1',
    title: 'Forwarded addresses with ports count as the address without its port.',
    async run(product) {
      const behind = await product.another({
        MILLRACE_TRUST_PROXY: 'loopback, 10.0.0.0/8',
        MILLRACE_RATE_LIMIT_ANONYMOUS: '3',
      });
      for (const [forwarded, address] of [
        ['203.0.113.7:51234', '203.0.113.7'],
        ['[2001:db8::1]:443', '2001:db8::1'],
        ['"[2001:db8::1]:443"', '2001:db8::1'],
        ['198.51.100.1:9, 203.0.113.7:51234, 10.0.0.5:443', '203.0.113.7'],
        ['203.0.113.7, unknown', '127.0.0.1'],
      ] as const) {
        const { body } = await behind.call('GET', '/admin/settings/effective', {
          headers: { 'x-forwarded-for': forwarded, forwarded: 'for=192.0.2.1', 'x-real-ip': '192.0.2.2' },
        });
        assert.equal(body.request.ip, address, forwarded);
      }
      for (const client of ['203.0.113.8', '[2001:db8:5::1]']) {
        const statuses: number[] = [];
        for (const port of [1, 2, 3, 4]) {
          const headers = { 'x-forwarded-for': `${client}:${port}` };
          statuses.push((await behind.call('GET', '/api/notes', { headers, token: null })).status);
        }
        assert.equal(statuses.indexOf(429), 3, `${client}: ${statuses}`);
      }
      const lastGuess = { status: 0 };
      for (let port = 1; port <= 7; port++) {
        const { status } = await behind.call('POST', '/auth/login', {
          token: null,
          body: { username: `guess-${port}`, password: 'a wrong guess' },
          headers: { 'x-forwarded-for': `203.0.113.${9}:${port}` },
        });
        lastGuess.status = status;
      }
      assert.equal(lastGuess.status, 429);
    },
  },
  {
    point: 'A2',
    title: 'A tag that a compressing proxy changed locks optimistically, and a stale one is refused.',
    async run({ call }) {
      for (const form of [
        (tag: string) => `W/${tag}`,
        (tag: string) => tag.replace(/"$/, '-gzip"'),
        (tag: string) => `W/${tag.replace(/"$/, '-br"')}`,
      ]) {
        const { body, headers } = await call('POST', '/api/tagged', { body: { n: 0 } });
        const path = `/api/tagged/${body.id}`;
        const tag = form(headers.get('etag') ?? '');
        assert.equal((await call('GET', path, { headers: { 'if-none-match': tag } })).status, 304);
        const change = { body: { n: 1 }, headers: { 'if-match': tag } };
        assert.equal((await call('PATCH', path, change)).status, 200, tag);
        assert.equal((await call('PATCH', path, change)).status, 412, `${tag}, stale`);
        assert.equal((await call('DELETE', path, { headers: { 'if-match': tag } })).status, 412, `${tag}, stale`);
        assert.equal((await call('PATCH', path, { body: {}, headers: { 'if-match': 'W/"2-x"' } })).status, 412);
      }
    },
  },
  {
    point: 'A3',
    title: 'Live streams of lists and of runs forbid proxies to transform them.',
    async run({ url, admin }) {
      for (const path of ['/api/streamed', '/admin/runs/live']) {
        const abort = new AbortController();
        const headers = { accept: 'text/event-stream', authorization: `Bearer ${admin}` };
        const response = await fetch(`${url}${path}`, { headers, signal: abort.signal });
        assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/, path);
        assert.match(response.headers.get('cache-control') ?? '', /\bno-transform\b/, path);
        abort.abort();
      }
    },
  },
  {
    point: 'A4',
    title: 'Pages of listed origins can read what is refused before a route is known.',
    async run(product) {
      const origin = 'https://app.example.org';
      const { call, url } = await product.another({ MILLRACE_CORS_ORIGINS: origin });
      for (const [path, more, status] of [
        ['/api/%E0%A4%A', {}, 400],
        [`/api/${'x'.repeat(600)}`, {}, 414],
        [`/api/notes?title=${'x'.repeat(20_000)}`, {}, 414],
        [`/api/notes?title=${'x'.repeat(100_000)}`, {}, 431],
        ['/api/notes', { 'x-large': 'x'.repeat(20_000) }, 431],
        ['/api/notes', { 'x-large': 'x'.repeat(100_000) }, 431],
      ] as const) {
        const get = await call('GET', path, { headers: { origin, ...more } });
        assert.equal(get.status, status);
        assert.equal(get.headers.get('access-control-allow-origin'), origin, path.slice(0, 30));
        assert.ok(get.body.request, 'it is a problem document');
        const requests = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' };
        const preflight = await call('OPTIONS', path, { headers: { origin, ...requests }, token: null });
        assert.equal(preflight.status, 204, path.slice(0, 30));
        assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /authorization/i);
        const other = await call('GET', path, { headers: { origin: 'https://other.example', ...more } });
        assert.equal(other.headers.get('access-control-allow-origin'), null);
      }
      // The origin comes before what is too large, in a packet of its own.
      const socket = connect(Number(new URL(url).port), '127.0.0.1').setNoDelay();
      await once(socket, 'connect');
      socket.write(`GET /api/notes HTTP/1.1\r\nHost: localhost\r\nOrigin: ${origin}\r\n`);
      for (let sent = 0; sent < 8; sent++) {
        await setImmediate();
        socket.write(`X-${sent}: ${'x'.repeat(12_000)}\r\n`);
      }
      socket.write('\r\n');
      assert.match(
        await text(socket),
        /^HTTP\/1\.1 431 .*\naccess-control-allow-origin: (?:\*|https:\/\/app\.example\.org)\r\n/s,
      );
    },
  },
  {
    point: 'A5',
    title: 'Pages inside apps send requests and open sockets from origins with schemes of their own.',
    run: appOrigins,
  },
  {
    point: 'A5',
    title: 'A sign-in ends at a listed native app, with PKCE, and at no other scheme.',
    run: nativeRedirects,
  },
  {
    point: 'A7',
    title: 'An EventSource of another origin reconnects until its session ends.',
    run: reconnects,
  },
];
