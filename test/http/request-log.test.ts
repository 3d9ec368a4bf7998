/** The request log: detailed in development, for client developers, and without queries in production. */
import '../../src/fastify-types.ts';
import pino from 'pino';
import t, { type Test } from 'tap';
import { buildApp } from '../../src/app.ts';
import { consoleLogStream } from '../../src/http/console-log.ts';
import { buildTestApp } from '../helpers/app.ts';
import { until } from '../helpers/until.ts';

/** A server and the lines of its log, as a terminal has them in development, and as JSON in production. */
async function logged(t: Test, mode: 'development' | 'production') {
  const { services } = await buildTestApp(t, { MILLRACE_MODE: mode });
  let text = '';
  const out = {
    write: (line: string) => {
      text += line;
      return true;
    },
  };
  const app = await buildApp(services, pino({}, mode === 'development' ? consoleLogStream(out) : out));
  t.teardown(() => app.close());
  return { app, text: () => text };
}

t.test('in development an error is logged with the query, the code and the hint', async (t) => {
  const { app, text } = await logged(t, 'development');
  await app.inject({ method: 'POST', url: '/api/todos', payload: { title: 'x' } });
  const requested = await app.inject('/api/todos?sort=-title&limt=5&filter={');
  t.equal(requested.statusCode, 400);
  const { code, hint } = requested.json();
  await until(() => text().includes(code), 'the error is logged');
  const [, line = '', why = ''] = text().split('\n');
  t.match(line, /^400 {2}GET {4}\/api\/todos\?sort=-title&limt=5&filter=/);
  t.ok(why.startsWith(`     ${code}: `), why);
  t.ok(hint === undefined || why.includes(hint), why);
});

t.test('credentials and terminal control characters are not written to a terminal', async (t) => {
  const { app, text } = await logged(t, 'development');
  await app.inject('/files/abc/name?expires=1&signature=secret-one');
  await app.inject('/events?ticket=secret-two');
  await app.inject('/api/todos/a%1b%5B2Jb');
  await until(() => text().includes('2Jb'), 'all is written');
  t.notMatch(text(), /secret/);
  t.match(text(), /signature=…/);
  t.notOk(text().includes('\u001b'));
});

t.test('in production neither queries nor error messages are logged', async (t) => {
  const { app, text } = await logged(t, 'production');
  await app.inject('/api/todos?title=private');
  await until(() => text().includes('"path":"/api/todos"'), 'the line is written');
  t.notMatch(text(), /private|not-authenticated/);
});
