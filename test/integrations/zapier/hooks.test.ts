/** Triggers of the Zapier app against a real server: subscribe, deliveries, samples, unsubscribe. */
import t from 'tap';
import { run, type TestBundle } from '../../../integrations/zapier/test/app-tester.ts';
import { until } from '../../helpers/until.ts';
import { startReceiver } from '../../helpers/webhooks/receiver.ts';
import { zapierFixture } from './zapier-fixture.ts';

const ALL = ['read', 'create', 'update', 'delete'];
const HALF = { read: ['title', 'done'] };
const INTEGRATION = { principals: { roles: ['integration'] } };
const POLICIES = [
  { ...INTEGRATION, resources: ['todos'], actions: ['read'], fields: HALF, filter: { team: 'red' } },
  { ...INTEGRATION, resources: ['_files'], actions: ['read'] },
  { ...INTEGRATION, resources: ['_webhooks'], actions: ALL },
];

const trigger = (key: string, name: string) => `triggers.${key}.operation.${name}`;

t.test('The Zapier triggers work against a real server.', async (t) => {
  const fixture = await zapierFixture(t, POLICIES);
  const { authData, keyId } = await fixture.connection('integration');
  const receiver = await startReceiver(t);
  const write = (document: object) => fixture.asAdmin('POST /api/todos', document);
  const soup = { id: 'soup', title: 'Cook soup', done: false, cost: 7, team: 'red' };
  await write(soup);

  /** The steps of Zapier when a Zap is switched on. */
  const subscribe = async (key: string, inputData: object = { collection: 'todos' }) => {
    const bundle = { authData, inputData: { ...inputData }, targetUrl: `${receiver.url}/${key}` };
    const subscribeData = await run(trigger(key, 'performSubscribe'), bundle);
    if (typeof subscribeData !== 'object' || subscribeData === null) throw new Error('No subscription');
    return { ...bundle, subscribeData };
  };
  /** The steps of Zapier for the next delivery, whose number is given. */
  const next = async (key: string, bundle: TestBundle, count: number) => {
    await until(() => receiver.received.length >= count, 'a delivery arrives');
    const { headers, body: content } = receiver.received[count - 1] ?? { headers: {}, body: '' };
    const named = Object.entries(headers).map(([name, value]) => [`Http-${name}`, value]);
    const rawRequest = { headers: Object.fromEntries(named), content };
    return { ...bundle, rawRequest, cleanedRequest: JSON.parse(content), path: trigger(key, 'perform') };
  };

  await t.test('Zapier lists the collections to choose from.', async (t) => {
    t.strictSame(await run(trigger('collections', 'perform'), { authData }), [{ id: 'todos', name: 'Todos' }]);
  });

  await t.test(
    'A write reaches Zapier with the fields that the key can read, until the Zap is switched off.',
    async (t) => {
      const on = await subscribe('document_created');
      const [endpoint] = await fixture.asAdmin('GET /webhooks/endpoints');
      t.match(endpoint, { via: 'hooks', types: ['todos.created'], ratePerSecond: 25, principal: { id: keyId } });

      await write({ ...soup, id: 'hidden', team: 'blue' });
      await write({ ...soup, id: 'stew', title: 'Cook stew' });
      const { path, ...arrived } = await next('document_created', on, 1);
      const [event, ...others] = (await run(path, arrived)) as readonly object[];
      t.strictSame(others, []);
      t.match(event, { type: 'todos.created', collection: 'todos', documentId: 'stew', before: null });
      t.match(event, { data: { id: 'stew', title: 'Cook stew', done: false, cost: undefined, team: undefined } });

      await t.test('calls from other senders are ignored', async (t) => {
        const { rawRequest } = arrived;
        const forged = {
          ...arrived,
          rawRequest: { ...rawRequest, content: rawRequest.content.replace('stew', 'beef') },
        };
        await t.rejects(run(path, forged), { name: 'HaltedError', message: /not signed by your Millrace/ });
        const unsigned = { ...arrived, rawRequest: { ...rawRequest, headers: { 'Content-Type': 'application/json' } } };
        await t.rejects(run(path, unsigned), { name: 'HaltedError' });
        await t.rejects(run(path, { authData, cleanedRequest: { a: 1 } }), {
          name: 'HaltedError',
          message: /not an event/,
        });
      });

      const samples = (await run(trigger('document_created', 'performList'), on)) as readonly object[];
      t.match(
        samples[0],
        { type: 'todos.created', data: { title: 'Cook stew', cost: undefined } },
        'the newest sample',
      );
      t.strictSame(Object.keys(samples[0] ?? {}), Object.keys(event ?? {}), 'in the form of what arrives');

      await run(trigger('document_created', 'performUnsubscribe'), on);
      t.strictSame(await fixture.asAdmin('GET /webhooks/endpoints'), []);
      await run(trigger('document_created', 'performUnsubscribe'), on);
    },
  );

  await t.test('Zapier receives changes and deletions of matching documents only.', async (t) => {
    const before = receiver.received.length;
    const filter = '{"title":"Cook soup"}';
    const updated = await subscribe('document_updated', { collection: 'todos', filter });
    const deleted = await subscribe('document_deleted');
    await fixture.asAdmin('PATCH /api/todos/stew', { done: true });
    await fixture.asAdmin('PATCH /api/todos/soup', { done: true });
    const changed = await next('document_updated', updated, before + 1);
    const state = { title: 'Cook soup', cost: undefined };
    t.match(await run(changed.path, changed), [
      { type: 'todos.updated', data: { ...state, done: true }, before: { ...state, done: false } },
    ]);
    await fixture.asAdmin('DELETE /api/todos/soup');
    const gone = await next('document_deleted', deleted, before + 2);
    t.match(await run(gone.path, gone), [{ type: 'todos.deleted', documentId: 'soup', data: null, before: state }]);
    for (const on of [updated, deleted]) await run(trigger('document_deleted', 'performUnsubscribe'), on);
    t.equal(receiver.received.length, before + 2);
  });

  await t.test('Zapier fetches a document that is too large for a delivery.', async (t) => {
    const before = receiver.received.length;
    const on = await subscribe('document_created');
    await write({ ...soup, id: 'large', title: 'x'.repeat(300_000) });
    const { path, ...arrived } = await next('document_created', on, before + 1);
    t.match(arrived.cleanedRequest, { truncated: true, data: null });
    t.match(await run(path, arrived), [{ documentId: 'large', data: { id: 'large', title: /^x{300000}$/ } }]);
    await run(trigger('document_created', 'performUnsubscribe'), on);
  });

  await t.test('Zapier receives an uploaded file.', async (t) => {
    const before = receiver.received.length;
    const on = await subscribe('file_uploaded', { filter: '{"type":"text/plain"}' });
    await fixture.upload('offer 1.txt', 'hello');
    const { path, ...arrived } = await next('file_uploaded', on, before + 1);
    const [event] = (await run(path, arrived)) as readonly [Readonly<Record<string, unknown>>];
    const shown = { data: { name: 'offer 1.txt', type: 'text/plain', size: 5 }, file: /^hydrate\|\|\|/ };
    t.match(event, { type: 'system.file.created', ...shown });
    const [sample] = (await run(trigger('file_uploaded', 'performList'), on)) as readonly [typeof event];
    t.match(sample, shown);
    t.strictSame(sample['data'], event['data'], 'in the form of what arrives');
    const inputData = { id: event['documentId'] };
    const signed = await run('hydrators.signedUrl', { authData, inputData });
    t.equal(await (await fetch(String(signed))).text(), 'hello', 'its bytes can be had without a key');
    await run(trigger('file_uploaded', 'performUnsubscribe'), on);
  });
});
