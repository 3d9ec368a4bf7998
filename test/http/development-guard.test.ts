/**
 * Development mode accepts requests of this machine only: no page of another site, and no other host name that resolves
 * to it.
 */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';

t.test('development mode rejects other hosts and pages of other sites', async (t) => {
  const { app } = await buildTestApp(t, {
    MILLRACE_PUBLIC_URL: 'https://dev.tunnel.example',
    MILLRACE_CORS_ORIGINS: 'https://preview.example',
  });
  const status = async (headers: Record<string, string>, url = '/api/notes') =>
    (await app.inject({ method: 'POST', url, headers, payload: { text: 'x' } })).statusCode;

  for (const host of [
    'localhost',
    'LOCALHOST:3000',
    '127.0.0.1:3000',
    '127.9.9.9',
    '[::1]:3000',
    'dev.tunnel.example',
  ]) {
    t.equal(await status({ host }), 201, `a program that requests ${host}`);
  }
  for (const host of [
    'evil.example',
    'evil.example:3000',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '10.0.0.1',
  ]) {
    t.equal(await status({ host }), 403, `a name that leads here: ${host}`);
  }
  for (const origin of [
    'http://localhost:5173',
    'http://[::1]:8080',
    'https://preview.example',
    'https://dev.tunnel.example',
  ]) {
    t.equal(await status({ host: 'localhost:3000', origin }), 201, `a page of ${origin}`);
  }
  for (const origin of ['https://evil.example', 'http://localhost.evil.example', 'null']) {
    t.equal(await status({ host: 'localhost:3000', origin }), 403, `a page of ${origin}`);
    t.equal(await status({ host: 'localhost:3000', origin }, '/admin/keys'), 403, `of ${origin}, for a key`);
  }
  const nowhere = await app.inject({ url: '/api/notes', headers: { host: 'localhost', origin: 'null' } });
  t.match(nowhere.json(), {
    code: 'forbidden',
    detail: /without an origin/,
    hint: /file.*sandbox.*http:\/\/localhost/,
  });
  t.notMatch(nowhere.json().hint, /MILLRACE_CORS_ORIGINS/, 'where no origin can be allowed');
  const refused = await app.inject({ url: '/healthz', headers: { host: 'evil.example' } });
  t.match(refused.json(), { code: 'forbidden', hint: /MILLRACE_PUBLIC_URL/ });
  t.equal((await app.inject('/api/notes')).json().length, 10, 'no rejected request has written anything');
});

t.test('production mode requires credentials instead', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const response = await app.inject({
    url: '/healthz',
    headers: { host: 'any.example', origin: 'https://any.example' },
  });
  t.equal(response.statusCode, 200);
});
