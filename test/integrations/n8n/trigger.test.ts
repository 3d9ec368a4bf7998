/**
 * The Millrace Trigger node in n8n's engine, against a running Millrace: its hook is created and removed, a write starts the
 * workflow, which writes back with the Millrace node, and unsigned requests do not start it.
 */
import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import { type Engine, openEngine, outputOf, type TestWorkflow } from '../../helpers/n8n/engine.ts';
import { type N8nFixture, n8nFixture } from '../../helpers/n8n/fixture.ts';
import { until } from '../../helpers/until.ts';

const named = (value: string) => ({ __rl: true, mode: 'name', value });
const NEW_ORDER = { resource: 'document', collection: named('orders'), event: 'created', filter: '{"status":"paid"}' };

interface Around extends N8nFixture, Engine {
  hooks(): Promise<{ id: string; targetUrl: string; event: string; filter: object | null }[]>;
  write(method: 'POST' | 'PATCH', path: string, payload: object): Promise<void>;
}

t.test('The n8n trigger starts workflows.', { timeout: 120_000 }, async (t) => {
  const fixture = await n8nFixture(t);
  const engine = await openEngine(t);
  const headers = { authorization: `Bearer ${fixture.credentials.apiKey}` };
  const hooks: Around['hooks'] = async () => (await fixture.app.inject({ url: '/hooks', headers })).json();
  const write: Around['write'] = async (method, path, payload) => {
    const scope = { authorization: fixture.writer };
    const { statusCode, body } = await fixture.app.inject({ method, url: `/api/${path}`, payload, headers: scope });
    if (statusCode >= 300) throw new Error(body);
  };
  const around = { ...fixture, ...engine, hooks, write };
  await write('POST', 'private', { id: 'p1' });
  await t.test('A write starts the n8n workflow, which writes back.', (t) => roundTrip(t, around));
  await t.test('The n8n trigger creates its hook once, recreates an outdated one, and removes it.', (t) =>
    lifecycle(t, around),
  );
  await t.test('Only Millrace can start the n8n workflow.', (t) => forgeries(t, around));
  await t.test('The n8n editor lists the collections that the key can read.', (t) => choices(t, around));
});

async function roundTrip(t: Test, { workflow, credentials, write, app, hooks }: Around): Promise<void> {
  const flow = workflow(
    [
      { type: 'millraceTrigger', parameters: NEW_ORDER },
      {
        type: 'millrace',
        parameters: {
          resource: 'document',
          operation: 'create',
          collection: named('todos'),
          fieldsFrom: 'json',
          fields: '={{ { title: "Send " + $json.data.item, order: $json.documentId, event: $json.id } }}',
        },
      },
    ],
    credentials,
  );
  t.equal(await flow.activate(), true);
  await write('POST', 'orders', { id: 'o1', item: 'soup', status: 'open', secret: 'x' });
  await write('POST', 'orders', { id: 'o2', item: 'bread', status: 'paid', secret: 'x' });
  await until(() => flow.runs.length > 0, 'the workflow ran');
  const [run] = flow.runs;
  t.equal(run?.status, 'success');
  const [event] = run?.data.resultData.runData['0']?.[0]?.data?.main[0] ?? [];
  t.match(event?.json, { type: 'orders.created', documentId: 'o2', data: { item: 'bread', status: 'paid' } });
  t.notOk(JSON.stringify(event).includes('secret'), 'fields that the key cannot see do not arrive');
  const [created] = run === undefined ? [] : outputOf(run);
  const headers = { authorization: `Bearer ${credentials.apiKey}` };
  const stored = (await app.inject({ url: `/api/todos/${created?.json['id']}`, headers })).json();
  t.match(stored, { title: 'Send bread', order: 'o2', event: event?.json['id'] });

  await flow.deactivate();
  t.strictSame(await hooks(), []);
  t.strictSame(flow.staticData, {}, 'nothing of the hook remains');
  t.strictSame(flow.response, [200]);
}

async function lifecycle(t: Test, { workflow, credentials, hooks, app }: Around): Promise<void> {
  const headers = { authorization: `Bearer ${credentials.apiKey}` };
  const flow = workflow([{ type: 'millraceTrigger', parameters: NEW_ORDER }], credentials);
  t.equal(await flow.activate(), true);
  const [hook] = await hooks();
  t.match(hook, { targetUrl: flow.url, event: 'orders.created', filter: { status: 'paid' } });
  t.equal(await flow.activate(), false, 'it is there: n8n starts again, and nothing changes');

  await app.inject({ method: 'DELETE', url: `/hooks/${hook?.id}`, headers });
  t.equal(await flow.activate(), true, 'the hook was removed elsewhere');
  for (const field of ['secret', 'hookId']) delete flow.staticData[field];
  t.equal(await flow.activate(), true, 'without its secret it is of no use');
  t.equal((await hooks()).length, 1, 'the previous one is removed');
  const [{ id } = { id: '' }] = await hooks();
  t.equal(flow.staticData['hookId'], id);

  await app.inject({ method: 'DELETE', url: `/hooks/${id}`, headers });
  await flow.deactivate();
  t.strictSame(await hooks(), [], 'removing a missing one succeeds');

  const files = workflow([{ type: 'millraceTrigger', parameters: { resource: 'file', event: '*' } }], credentials);
  await files.activate();
  t.match(await hooks(), [{ event: 'system.file.*', filter: null }]);
  await files.deactivate();
  const wrong = { ...NEW_ORDER, filter: '{"$nope":1}' };
  await t.rejects(workflow([{ type: 'millraceTrigger', parameters: wrong }], credentials).activate(), {
    name: 'NodeApiError',
    message: /nope/,
  });
}

async function forgeries(t: Test, { workflow, credentials }: Around): Promise<void> {
  const flow = workflow([{ type: 'millraceTrigger', parameters: NEW_ORDER }], credentials);
  await flow.activate();
  const secret = String(flow.staticData['secret']);
  const body = JSON.stringify({ id: '1-1', type: 'orders.created', documentId: 'o9', data: {} });
  const now = new Date();
  const ago = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
  const another = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const signed = (text = body, at = now, by = secret) => signatureOf(text, at, by);
  const tried = JSON.stringify({ id: '1-1', type: 'system.webhook.test', data: null });
  const cases: [name: string, status: number, headers: Record<string, string>, text?: string][] = [
    ['as Millrace signs it', 200, signed()],
    ['a repeat of it', 200, namedBySvix(signed())],
    ['with the signature of another secret beside it', 200, bothOf(signed(body, now, another), signed())],
    ['a test of the endpoint, which starts nothing', 200, signed(tried), tried],
    ['without a signature', 401, {}],
    ['by another secret', 401, signed(body, now, another)],
    ['with another body', 401, signed(), body.replace('o9', 'o8')],
    ['written again with other bytes', 401, signed(), ` ${body}`],
    ['with another id', 401, { ...signed(), 'webhook-id': '1-2' }],
    ['from six minutes ago', 401, signed(body, ago(6))],
    ['from six minutes ahead', 401, signed(body, ago(-6))],
    ['with a time that is no number', 401, { ...signed(), 'webhook-timestamp': 'now' }],
    ['with an empty signature', 401, { ...signed(), 'webhook-signature': '' }],
  ];
  for (const [name, status, headers, text = body] of cases) {
    const response = await fetch(flow.url, { method: 'POST', body: text, headers });
    await response.text();
    t.equal(response.status, status, name);
  }
  await until(() => flow.runs.length === 3, 'the three run');
  t.strictSame(await eventIds(flow), ['1-1', '1-1', '1-1'], 'a repeat has the same id');
  await flow.deactivate();
  const response = await fetch(flow.url, { method: 'POST', body, headers: signed() });
  t.equal(response.status, 401, 'no more after the hook was removed');
}

/** The headers of a delivery, signed by the public library of Standard Webhooks. */
function signatureOf(text: string, at: Date, secret: string): Record<string, string> {
  const id = '1-1';
  const seconds = String(Math.floor(at.getTime() / 1000));
  const signature = new Webhook(secret).sign(id, at, text);
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signature };
}

/** With the header names of Svix, as on instances that send through it. */
function namedBySvix(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.replace('webhook-', 'svix-'), value]));
}

function bothOf(one: Record<string, string>, other: Record<string, string>): Record<string, string> {
  return { ...one, 'webhook-signature': `${one['webhook-signature']} ${other['webhook-signature']}` };
}

async function eventIds(flow: TestWorkflow): Promise<unknown[]> {
  return flow.runs.map((run) => outputOf(run)[0]?.json['id']);
}

async function choices(t: Test, { workflow, credentials }: Around): Promise<void> {
  const flow = workflow([{ type: 'millraceTrigger', parameters: NEW_ORDER }], credentials);
  const labels = async (filter?: string) => {
    const { results } = (await flow.collections(filter)) as { results: { name: string; value: string }[] };
    return results.map(({ value }) => value);
  };
  t.strictSame(await labels(), ['orders', 'todos'], 'not those that it cannot read');
  t.strictSame(await labels('ORD'), ['orders']);
}
