/**
 * The nodes in a complete n8n, where one is installed: a write in Millrace starts a workflow, which writes back, and the editor
 * tests the credentials and lists collections.
 */
import t from 'tap';
import { n8nFixture } from '../../helpers/n8n/fixture.ts';
import { openN8n, whyNoN8n } from '../../helpers/n8n/server.ts';
import { until } from '../../helpers/until.ts';

const CREDENTIALS = { id: 'millraceCreds001', name: 'Millrace', type: 'millraceApi' };
const { type: _, ...named } = CREDENTIALS;
const use = { typeVersion: 1, position: [0, 0], credentials: { millraceApi: named } };
const collection = (value: string) => ({ __rl: true, mode: 'name', value });

const TRIGGER = {
  ...use,
  id: '11111111-1111-4111-8111-111111111111',
  webhookId: '22222222-2222-4222-8222-222222222222',
  name: 'Order',
  type: 'n8n-nodes-millrace.millraceTrigger',
  parameters: { resource: 'document', collection: collection('orders'), event: 'created', filter: '{"status":"paid"}' },
};
const FIELDS = '={{ { title: "Send " + $json.data.item, order: $json.documentId } }}';
const ACTION = {
  ...use,
  id: '33333333-3333-4333-8333-333333333333',
  name: 'Todo',
  type: 'n8n-nodes-millrace.millrace',
  parameters: { resource: 'document', operation: 'create', collection: collection('todos'), fields: FIELDS },
};
const WORKFLOW = {
  id: 'millraceFlow0001',
  name: 'Answer orders',
  active: false,
  settings: { executionOrder: 'v1' },
  nodes: [TRIGGER, ACTION],
  connections: { Order: { main: [[{ node: 'Todo', type: 'main', index: 0 }]] } },
};

t.test(
  'A workflow in a complete n8n receives a write and writes back.',
  { skip: whyNoN8n, timeout: 600_000 },
  async (t) => {
    const { app, credentials, writer } = await n8nFixture(t);
    const headers = { authorization: `Bearer ${credentials.apiKey}` };
    const read = async (url: string) => (await app.inject({ url, headers })).json();
    const n8n = await openN8n(t);
    await n8n.load({ ...CREDENTIALS, data: credentials }, WORKFLOW);
    await n8n.start();
    await until(async () => (await read('/hooks')).length === 1, 'n8n made its hook', 60_000);

    const orders = [
      { id: 'o1', item: 'soup', status: 'open' },
      { id: 'o2', item: 'bread', status: 'paid' },
    ];
    for (const payload of orders) {
      const { statusCode } = await app.inject({
        method: 'POST',
        url: '/api/orders',
        payload,
        headers: { authorization: writer },
      });
      t.equal(statusCode, 201);
    }
    await until(async () => (await read('/api/todos')).length === 1, 'the workflow wrote back', 60_000);
    t.match(await read('/api/todos'), [{ title: 'Send bread', order: 'o2' }]);
    const [hook] = await read('/hooks');
    const forged = await fetch(hook.targetUrl, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
    t.equal(forged.status, 401, 'an unsigned request is rejected');

    const tested = (data: object) =>
      n8n.request('POST /rest/credentials/test', { credentials: { ...CREDENTIALS, data } });
    t.match(await tested(credentials), { status: 'OK' });
    t.match(await tested({ ...credentials, apiKey: 'mr_wrong' }), { status: 'Error' });
    const list = await n8n.request('POST /rest/dynamic-node-parameters/resource-locator-results', {
      path: 'parameters.collection',
      methodName: 'searchCollections',
      nodeTypeAndVersion: { name: TRIGGER.type, version: 1 },
      currentNodeParameters: TRIGGER.parameters,
      credentials: TRIGGER.credentials,
    });
    t.match(list, { results: [{ value: 'orders' }, { value: 'todos' }] });

    const { versionId } = await n8n.request(`GET /rest/workflows/${WORKFLOW.id}`);
    await n8n.request(`POST /rest/workflows/${WORKFLOW.id}/deactivate`, { versionId: String(versionId) });
    await until(async () => (await read('/hooks')).length === 0, 'a workflow that is not active has no hook', 60_000);
  },
);
