/** `millrace webhooks endpoints`, `resend` and `replay`, run as programs against a real server. */
import { createServer } from 'node:http';
import t, { type Test } from 'tap';
import { ask } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { runWebhooks } from '../helpers/programs/webhooks-command.ts';
import { until } from '../helpers/until.ts';

async function startServer(t: Test) {
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { app, url };
}

/** A server that answers what `status` says, and keeps the bodies. */
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

t.test('endpoints are a table with their health', async (t) => {
  const { app, url } = await startServer(t);
  t.match(await result(t, ['endpoints', '--url', url]), { code: 0, output: 'There are no endpoints\n' });
  const target = await startTarget(t);
  const made = await ask(app, 'POST /webhooks/endpoints', { url: target.url, types: ['todos.*'], name: 'Shop' });
  await ask(app, 'POST /webhooks/endpoints', { url: target.url, types: ['*'], enabled: false });
  await ask(app, 'POST /api/todos', { id: 'milk' });
  const { id } = made.json();
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
  t.match(output, /disabled \(owner\) +0 +- +- +\* /);
});

t.test('a failed delivery is sent again by its id', async (t) => {
  const { app, url } = await startServer(t);
  const target = await startTarget(t);
  target.status = 500;
  await ask(app, 'POST /webhooks/endpoints', { url: target.url, types: ['todos.*'], schedule: 'none' });
  await ask(app, 'POST /api/todos', { id: 'milk' });
  const dead = async () => (await ask(app, 'GET /webhooks/deliveries?state=dead')).json();
  await until(async () => (await dead()).length === 1, 'the delivery is dead');
  const [{ id }] = await dead();
  t.match(await result(t, ['resend', id, '--url', url]), { code: 1, output: /Failed: the answer was 500/ });
  target.status = 204;
  t.match(await result(t, ['resend', id, '--url', url]), { code: 0, output: /Delivered: the answer was 204\n$/ });
  t.equal(new Set(target.bodies).size, 1, 'always the same body');
  t.match(await result(t, ['resend', `${id}0`, '--url', url]), { code: 1, output: /answered with 404: / });
});

t.test('a range of the log is replayed to its end', async (t) => {
  const { app, url } = await startServer(t);
  const target = await startTarget(t);
  const since = String((await ask(app, 'GET /events')).json().position);
  for (let n = 0; n < 20; n++) await ask(app, `POST /api/${n % 2 === 0 ? 'todos' : 'notes'}`, { n });
  const made = await ask(app, 'POST /webhooks/endpoints', { url: target.url, types: ['todos.*', 'notes.*'] });
  const words = ['replay', made.json().id, '--since', since, '--types', 'todos.*', '--url', url];
  const { code, output } = await result(t, words);
  t.equal(code, 0, output);
  t.match(output, /10 deliveries made, at \d+-\d+\n[\s\S]*is done\n$/);
  await until(() => target.bodies.length === 10, 'all of them arrive');
  t.ok(target.bodies.every((body) => JSON.parse(body).type === 'todos.created'));
  const unknown = ['replay', made.json().id, '--since', '999-1', '--url', url];
  t.match(await result(t, unknown), { code: 1, output: /answered with 410: / });
});
