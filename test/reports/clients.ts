/** Reports about clients, proxies and the addresses of both. */
import assert from 'node:assert/strict';
import type { Report } from './report.ts';

export const reports: readonly Report[] = [
  {
    point: 'A1',
    title: 'Forwarded addresses with ports count as the address without its port.',
    async run(product) {
      const behind = await product.another({
        MILLRACE_TRUST_PROXY: 'loopback, 10.0.0.0/8',
        MILLRACE_RATE_ANONYMOUS: '3',
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
        assert.equal(body.request.address, address, forwarded);
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
      const { call } = await product.another({ MILLRACE_CORS_ORIGINS: origin });
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
        const asks = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' };
        const preflight = await call('OPTIONS', path, { headers: { origin, ...asks }, token: null });
        assert.equal(preflight.status, 204, path.slice(0, 30));
        assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /authorization/i);
        const other = await call('GET', path, { headers: { origin: 'https://other.example', ...more } });
        assert.equal(other.headers.get('access-control-allow-origin'), null);
      }
    },
  },
];
