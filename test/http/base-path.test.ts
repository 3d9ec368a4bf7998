/** A server whose public URL has a path: requests with and without it, and every reference in responses. */
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import t from 'tap';
import { WebSocket } from 'ws';
import { RESERVED_PATH_SEGMENTS } from '../../src/config/base-path.ts';
import { ConfigError, loadConfig } from '../../src/config/config.ts';
import { buildTestApp } from '../helpers/app.ts';
import { multipart } from '../helpers/files/upload.ts';
import { linkIn, testMailbox } from '../helpers/network/mailbox.ts';
import { routesOf } from '../helpers/routes.ts';

const ORIGIN = 'https://example.org';
const BASE = '/backend/v1';
const PUBLIC_URL = `${ORIGIN}${BASE}`;

t.test('either setting defines the base path', async (t) => {
  const addressesOf = (publicUrl: string, basePath = '') => {
    const { server, auth } = loadConfig({ MILLRACE_PUBLIC_URL: publicUrl, MILLRACE_BASE_PATH: basePath });
    return [server.publicUrl, server.basePath, auth.base];
  };
  const whole = [PUBLIC_URL, BASE, PUBLIC_URL];
  t.strictSame(addressesOf(PUBLIC_URL), whole);
  t.strictSame(addressesOf(`${PUBLIC_URL}/`), whole);
  t.strictSame(addressesOf(PUBLIC_URL, '/'), whole);
  t.strictSame(addressesOf(PUBLIC_URL, `${BASE}/`), whole);
  t.strictSame(addressesOf(ORIGIN, BASE), whole);
  t.strictSame(addressesOf(`${ORIGIN}/`, `${BASE}/`), whole);
  t.strictSame(addressesOf('', BASE), [undefined, BASE, `http://127.0.0.1:3000${BASE}`]);
  t.strictSame(addressesOf(ORIGIN, '/'), [ORIGIN, '', ORIGIN]);
});

t.test('a path that has several spellings, differs, or starts like a route is refused at the start', async (t) => {
  const issue = (env: Record<string, string>) => {
    try {
      return loadConfig(env) && 'accepted';
    } catch (error) {
      return error instanceof ConfigError ? error.issues.join('\n') : error;
    }
  };
  for (const path of [
    '//',
    '/a//b',
    '/a/../b',
    '/..',
    '/./a',
    '/a b',
    '/b%C3%A4',
    '/bä',
    '/a?b',
    '/a#b',
    '/a/*',
    '/a;b',
  ]) {
    t.match(
      issue({ MILLRACE_PUBLIC_URL: `${ORIGIN}${path}` }),
      /^MILLRACE_PUBLIC_URL=…: must be the URL of a server/,
      path,
    );
    t.match(issue({ MILLRACE_BASE_PATH: path }), /^MILLRACE_BASE_PATH=.*: must be a path such as \/backend/, path);
  }
  for (const path of ['backend', 'https://example.org/backend', '*']) {
    t.match(issue({ MILLRACE_BASE_PATH: path }), /^MILLRACE_BASE_PATH=.*: must be a path such as \/backend/, path);
  }
  t.match(
    issue({ MILLRACE_PUBLIC_URL: PUBLIC_URL, MILLRACE_BASE_PATH: '/other' }),
    /has the path \/backend\/v1; use the same/,
  );
  t.match(issue({ MILLRACE_PUBLIC_URL: `${ORIGIN}/api` }), /^MILLRACE_PUBLIC_URL: the path \/api starts like a route/);
  t.match(
    issue({ MILLRACE_BASE_PATH: '/dashboard/x' }),
    /^MILLRACE_BASE_PATH: the path \/dashboard\/x starts like a route/,
  );
  for (const path of ['/API', '/apis', '/x/api', '/.x', '/a..b', '/~ann'])
    t.equal(issue({ MILLRACE_BASE_PATH: path }), 'accepted', path);
});

t.test('a server below a path', async (t) => {
  const mailbox = await testMailbox(t);
  const settings = { MILLRACE_PUBLIC_URL: `${PUBLIC_URL}/`, MILLRACE_SMTP_URL: mailbox.url };
  const { app, services } = await buildTestApp(t, settings);
  const call = (url: string, options: InjectOptions = {}): Promise<LightMyRequestResponse> =>
    app.inject({ ...options, url, headers: { host: 'example.org', ...options.headers } });
  const post = (url: string, payload: object, headers = {}) => call(url, { method: 'POST', payload, headers });

  await t.test('every route is reached, whether a proxy removes the path or not', async (t) => {
    for (const base of ['', BASE]) {
      t.equal((await post(`${base}/api/todos`, { id: `a${base.length}` })).statusCode, 201, base);
      t.equal((await call(`${base}/healthz`)).statusCode, 200);
      t.equal((await call(`${base}/api/todos?limit=1`)).json().length, 1);
      t.match((await call(`${base}/nothing`)).json(), { status: 404, instance: `${BASE}/nothing` });
      t.match((await call(`${base}/api/%E0%A4%A`)).json(), { status: 400, instance: `${BASE}/api/%E0%A4%A` });
      const refused = await call(`${base}/auth/login`, { method: 'PUT' });
      t.match([refused.statusCode, refused.headers['allow']], [405, 'OPTIONS, POST']);
    }
    t.equal((await call(BASE)).headers['location'], `${BASE}/docs`);
    t.equal((await call(`${BASE}?a=b`)).statusCode, 302);
    t.equal((await call(`${BASE}/`)).statusCode, 302);
    for (const other of ['/backend', '/backend/v10/healthz', '/Backend/v1/healthz', '/v1/healthz'])
      t.equal((await call(other)).statusCode, 404, other);
  });

  await t.test('a base path must not start with the first segment of a route', async (t) => {
    const segments = routesOf(app).map((route) => /^\w+ \/([^/*]*)/.exec(route)?.[1] ?? '');
    // Fastify does not print the paths that end with `*`.
    const others = ['client', 'fn'].filter((name) => app.hasRoute({ method: 'GET', url: `/${name}/*` }));
    t.strictSame([...new Set([...segments, ...others])].filter(Boolean).sort(), [...RESERVED_PATH_SEGMENTS].sort());
  });

  for (const base of ['', BASE]) {
    await t.test(
      `references in responses have the path where requests come ${base === '' ? 'without' : 'with'} it`,
      async (t) => {
        const created = await post(`${base}/api/notes`, { title: 'a' });
        t.equal(created.headers['location'], `${BASE}/api/notes/${created.json().id}`);
        const key = { 'idempotency-key': `k-${base.length}` };
        await post(`${base}/api/notes`, { title: 'b' }, key);
        const again = await post(`${base}/api/notes`, { title: 'b' }, key);
        t.equal(again.headers['location'], `${BASE}/api/notes/${again.json().id}`);
        const page = await call(`${base}/api/notes?limit=1&sort=title`);
        t.match(
          page.headers['link'],
          new RegExp(`^<${BASE}/api/notes\\?limit=1&sort=title&cursor=[^<>]+>; rel="next"$`),
        );
        const { send, headers } = await multipart({ name: 'a.txt' });
        const file = (await call(`${base}/files`, { method: 'POST', payload: send, headers })).json();
        t.equal(file.url, `${PUBLIC_URL}/files/${file.id}/a.txt`);
        const signed = (await post(`${base}/files/${file.id}/sign`, {})).json().url;
        t.match(signed, `${PUBLIC_URL}/files/${file.id}/a.txt?`);
        t.equal((await call(String(signed).slice(ORIGIN.length))).body, 'hello');
        t.equal((await call(String(signed).slice(PUBLIC_URL.length))).body, 'hello', 'the proxy removes the path');
        t.strictSame((await call(`${base}/openapi.json`)).json().servers, [{ url: BASE }]);
        t.equal((await call(`${base}/setup`)).headers['location'], `${BASE}/dashboard/setup`);
        t.equal((await call(`${base}/examples/board`)).headers['location'], `${BASE}/examples/board/`);
        const hook = await post(`${base}/webhooks/endpoints`, { url: 'https://hooks.example.org/', types: ['*'] });
        t.match(hook.headers['location'], new RegExp(`^${BASE}/webhooks/endpoints/`));
        const dashboard = (await call(`${base}/dashboard/data/notes`)).body;
        t.match(dashboard, `src="${BASE}/dashboard/assets/index-`);
        t.notMatch(dashboard, /(?:src|href)="(?!\/backend\/v1\/)/, 'nothing of the page is elsewhere');
        for (const page of ['/signin', '/reset', '/verify', '/docs'])
          t.notMatch(
            (await call(base + page)).body,
            /(?:fetch\(|ask\(|src=|href=|data-target=)["']\//,
            'its URLs are relative',
          );
      },
    );
  }

  await t.test('links in e-mails have the path', async (t) => {
    const user = { username: 'ada', password: 'four wooden ships sail', email: 'ada@example.org' };
    t.equal((await post('/auth/register', user)).statusCode, 201);
    const email = await mailbox.next('ada@example.org');
    const { token, link } = { ...linkIn(email), link: /https:\S+/.exec(email.text ?? '')?.[0] };
    t.equal(link, `${PUBLIC_URL}/verify#${token}`);
    t.match(
      await services.auth.firstAdmin.link(services.config.auth.base),
      new RegExp(`^${PUBLIC_URL}/dashboard/setup#`),
    );
  });

  await t.test(
    'cookies are limited to the path, and are not __Host- ones, which browsers accept at the root only',
    async (t) => {
      const opened = await post('/dashboard/session', { username: 'ada', password: 'four wooden ships sail' });
      t.match(
        opened.headers['set-cookie'],
        /^__Secure-millrace=\S+; Max-Age=\d+; Path=\/backend\/v1; HttpOnly; SameSite=Strict; Secure$/,
      );
      const cookie = String(opened.headers['set-cookie']).split(';', 1)[0] ?? '';
      t.equal((await call('/dashboard/session', { headers: { cookie } })).json().signedIn, true);
      const origin = { origin: ORIGIN };
      const renewed = await call('/dashboard/session', { method: 'PUT', headers: { cookie, ...origin } });
      t.equal(renewed.statusCode, 200, 'the origin of the public URL has no path');
      const ended = await call('/dashboard/session', { method: 'DELETE', headers: { cookie, ...origin } });
      t.match(ended.headers['set-cookie'], /^__Secure-millrace=; Max-Age=0; Path=\/backend\/v1;/);
      const requested = await post('/auth/magic-link', { email: 'ada@example.org' });
      t.match(requested.headers['set-cookie'], /^__Secure-millrace-link=[\w-]{43}; Path=\/backend\/v1;/);
    },
  );

  await t.test('a stream that reconnects and a socket work below the path', async (t) => {
    const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
    const { accessToken } = (await post('/auth/login', { username: 'ada', password: 'four wooden ships sail' })).json();
    const { ticket } = (await post('/auth/ticket', {}, { authorization: `Bearer ${accessToken}` })).json();
    const following = new AbortController();
    const stream = await fetch(`${url.origin}${BASE}/api/notes?ticket=${ticket}`, {
      headers: { accept: 'text/event-stream' },
      signal: following.signal,
    });
    t.match([stream.status, stream.headers.get('content-type')], [200, /event-stream/]);
    t.match(stream.headers.get('set-cookie'), new RegExp(`; Path=${BASE}/api/notes; `));
    following.abort();
    for (const base of ['', BASE]) {
      const socket = new WebSocket(`ws://${url.host}${base}/realtime`, 'millrace.v1');
      await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject));
      socket.close();
    }
  });
});

t.test('without a public URL, the URL of the request is completed by MILLRACE_BASE_PATH', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_BASE_PATH: '/backend' });
  const { send, headers } = await multipart({ name: 'a.txt' });
  for (const base of ['', '/backend']) {
    const sent = { ...headers, host: 'localhost:4000' };
    const created = await app.inject({ method: 'POST', url: `${base}/files`, payload: send, headers: sent });
    t.match(created.json().url, /^http:\/\/localhost:4000\/backend\/files\//);
  }
});
