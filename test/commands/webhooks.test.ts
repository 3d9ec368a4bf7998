/** `millrace webhooks endpoints`, `resend` and `replay` against a real server, each once as a process. */
import { createServer } from 'node:http';
import t, { type Test } from 'tap';
import { RemoteServer } from '../../src/commands/remote/remote.ts';
import { endpointTable } from '../../src/commands/webhooks/endpoint-table.ts';
import { replayDeliveries, resendDelivery } from '../../src/commands/webhooks/resend-and-replay.ts';
import { buildTestApp } from '../helpers/app.ts';
import { runWebhooks } from '../helpers/programs/webhooks-command.ts';
import { until } from '../helpers/until.ts';
import { ask } from '../helpers/users.ts';

/** Never aborted: nobody presses Ctrl-C. */
const NEVER = new AbortController().signal;

async function startServer(t: Test) {
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const remote = new RemoteServer(url, undefined);
  t.teardown(() => remote.close());
  return { app, url, remote };
}

/** A server that responds with `status`, and records the bodies. */
async function startTarget(t: Test) {
  const target = { url: '', status: 204, bodies: [] as string[] };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    target.bodies.push(body);
    response.writeHead(target.status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  target.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
  return target;
}

/** Runs a command to its end. */
async function result(t: Test, words: readonly string[]) {
  const command = runWebhooks(t, words);
  const code = await command.ended();
  return { code, output: command.output() };
}

t.test('millrace webhooks endpoints prints a table with their health.', async (t) => {
  const { app, url, remote } = await startServer(t);
  t.equal(await endpointTable(remote), 'No endpoints');
  const target = await startTarget(t);
  const created = await ask(app, 'POST /webhooks/endpoints', { url: target.url, types: ['todos.*'], name: 'Shop' });
  await ask(app, 'POST /webhooks/endpoints', { url: target.url, types: ['*'], enabled: false });
  await ask(app, 'POST /api/todos', { id: 'milk' });
  const { id } = created.json();
  await until(async () => {
    const { health } = (await ask(app, `GET /webhooks/endpoints/${id}`)).json();
    return health.lastSuccessAt !== null;
  }, 'a delivery succeeded');
  const { code, output } = await result(t, ['endpoints', '--url', `${url}/`]);
  t.equal(code, 0);
  const [head = '', ...rows] = output.trimEnd().split('\n');
  t.match(head, /^ID +STATE +PENDING +LAST SUCCESS +FAILING SINCE +TYPES +URL +NAME$/);
  t.equal(rows.length, 2);
  const [shop = ''] = rows.filter((row) => row.startsWith(id));
  t.match(shop, /enabled +0 +\d{4}-\d\d-\d\dT[\d:]+Z +- +todos\.\* +http:\S+ +Shop$/);
  t.match(output, /disabled \(manual\) +0 +- +- +\* /);
});

t.test('millrace webhooks resend sends a failed delivery again.', async (t) => {
  const { app, url, remote } = await startServer(t);
  const target = await startTarget(t);
  target.status = 500;
  await ask(app, 'POST /webhooks/endpoints', { url: target.url, types: ['todos.*'], retrySchedule: 'none' });
  await ask(app, 'POST /api/todos', { id: 'milk' });
  const dead = async () => (await ask(app, 'GET /webhooks/deliveries?state=failed')).json();
  await until(async () => (await dead()).length === 1, 'the delivery failed');
  const [{ id }] = await dead();
  const printed = t.capture(console, 'log');
  t.equal(await resendDelivery(id, remote, NEVER), false);
  t.match(printed().at(-1)?.args, [/^Failed: the response was 500/]);
  target.status = 204;
  t.match(await result(t, ['resend', id, '--url', url]), {
    code: 0,
    output: /^todos\.created resent to the endpoint .*\nSucceeded: the response was 204\n$/,
  });
  t.equal(new Set(target.bodies).size, 1, 'always the same body');
  await t.rejects(resendDelivery(`${id}0`, remote, NEVER), { message: /failed with 404: / });
});

t.test('millrace webhooks replay replays a range of the log to its end.', async (t) => {
  const { app, url, remote } = await startServer(t);
  const target = await startTarget(t);
  const since = String((await ask(app, 'GET /events')).json().position);
  for (let n = 0; n < 20; n++) await ask(app, `POST /api/${n % 2 === 0 ? 'todos' : 'notes'}`, { n });
  const created = await ask(app, 'POST /webhooks/endpoints', { url: target.url, types: ['todos.*', 'notes.*'] });
  const words = ['replay', created.json().id, '--since', since, '--types', 'todos.*', '--url', url];
  const { code, output } = await result(t, words);
  t.equal(code, 0, output);
  t.match(output, /10 deliveries created, at \d+-\d+\n[\s\S]*: succeeded\n$/);
  await until(() => target.bodies.length === 10, 'all of them arrive');
  t.ok(target.bodies.every((body) => JSON.parse(body).type === 'todos.created'));
  await t.rejects(replayDeliveries(created.json().id, { since: '999-1' }, remote, NEVER), {
    message: /failed with 410: /,
  });
});
