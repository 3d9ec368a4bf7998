/** Preflights: accepted for allowed origins, and for others the log states the reason. */
import pino from 'pino';
import t from 'tap';
import { buildApp } from '../../src/app.ts';
import { buildTestApp } from '../helpers/app.ts';

const preflight = (origin: string, more: Record<string, string> = {}) => ({
  method: 'OPTIONS' as const,
  url: '/api/notes',
  headers: { origin, 'access-control-request-method': 'PATCH', ...more },
});

/** Origins of pages inside apps. */
const APPS = ['capacitor://localhost', 'ionic://localhost', 'tauri://localhost', 'app://.'];

for (const mode of ['development', 'production']) {
  t.test(`a preflight in ${mode}`, async (t) => {
    const settings = { MILLRACE_MODE: mode, MILLRACE_CORS_ORIGINS: ['https://app.example', ...APPS].join() };
    const { services } = await buildTestApp(t, settings);
    const lines: Record<string, unknown>[] = [];
    const write = (text: string) => {
      const line: Record<string, unknown> = JSON.parse(text);
      if (line['msg'] !== 'request') lines.push(line);
    };
    const log = pino({ level: 'info' }, { write });
    const app = await buildApp(services, log);
    t.teardown(() => app.close());

    const allowed = await app.inject(preflight('https://app.example'));
    t.equal(allowed.statusCode, 204);
    t.equal(allowed.headers['access-control-allow-origin'], 'https://app.example');
    for (const origin of APPS) {
      for (const request of [preflight(origin), { url: '/api/notes', headers: { origin } }]) {
        const { headers, statusCode } = await app.inject(request);
        t.equal(headers['access-control-allow-origin'], origin);
        t.not(statusCode, 403, origin);
      }
    }
    t.strictSame(lines, []);

    for (const origin of [
      'https://other.example',
      'capacitor://other',
      'tauri://localhost:1',
      'null',
      'https://app.example.evil.example',
    ]) {
      const refused = await app.inject(preflight(origin));
      t.notOk(refused.headers['access-control-allow-origin'], origin);
      const [line, ...more] = lines.splice(0);
      t.match(line, { level: 30, origin, request: refused.headers['x-request-id'] });
      t.match(line?.['msg'], origin === 'null' ? /opaque origin/ : /MILLRACE_CORS_ORIGINS/);
      t.strictSame(more, []);
    }
    await app.inject(preflight(`https://${'x'.repeat(5_000)}.example`));
    t.ok(String(lines[0]?.['origin']).length < 200, 'a long one is cut');
    await app.inject({ method: 'OPTIONS', url: '/api/notes' });
    t.equal(lines.length, 1, 'a question for the methods is no preflight');
  });
}
