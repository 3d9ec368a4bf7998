/** An error that nobody expected: its client learns the id of the request and nothing else, the log learns all of it. */
import pino from 'pino';
import t from 'tap';
import { buildApp } from '../../src/app.ts';
import { buildTestApp } from '../helpers/app.ts';

t.test('an unexpected error tells its client nothing of the inside', async (t) => {
  const { parts } = await buildTestApp(t);
  const lines: string[] = [];
  const app = await buildApp(parts, pino({ level: 'error' }, { write: (line: string) => lines.push(line) }));
  t.teardown(() => app.close());
  const inside = 'planted: mongodb://root@10.0.0.7/x';
  Object.assign(parts.policyBook, { list: () => Promise.reject(new Error(inside)) });
  const answer = await app.inject('/admin/policies');
  t.match(answer.json(), { status: 500, code: 'internal', request: answer.headers['x-request-id'] });
  t.notMatch(JSON.stringify(answer.headers) + answer.body, /planted|mongodb|\.ts|at async/);
  t.match(lines, [/planted: mongodb/]);
  t.match(lines[0], `"request":"${answer.headers['x-request-id']}"`);
});
