/** An unexpected error: its client gets the id of the request and nothing else, the log gets all of it. */
import pino from 'pino';
import t from 'tap';
import { buildApp } from '../../src/app.ts';
import { buildTestApp } from '../helpers/app.ts';

t.test('an unexpected error reveals no internals to its client', async (t) => {
  const { services } = await buildTestApp(t);
  const lines: string[] = [];
  const app = await buildApp(services, pino({ level: 'error' }, { write: (line: string) => lines.push(line) }));
  t.teardown(() => app.close());
  const inside = 'planted: mongodb://root@10.0.0.7/x';
  Object.assign(services.policyRegistry, { list: () => Promise.reject(new Error(inside)) });
  const response = await app.inject('/admin/policies');
  t.match(response.json(), { status: 500, code: 'internal', request: response.headers['x-request-id'] });
  t.notMatch(JSON.stringify(response.headers) + response.body, /planted|mongodb|\.ts|at async/);
  t.match(lines, [/planted: mongodb/]);
  t.match(lines[0], `"request":"${response.headers['x-request-id']}"`);
});
