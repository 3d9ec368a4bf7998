/** The Millrace node in n8n's engine, against a running Millrace: the effect of each operation, and its errors. */
import { inspect } from 'node:util';
import t, { type Test } from 'tap';
import type { Item } from '../../helpers/n8n/core-types.ts';
import { type Engine, openEngine } from '../../helpers/n8n/engine.ts';
import { type N8nFixture, n8nFixture } from '../../helpers/n8n/fixture.ts';
import { until } from '../../helpers/until.ts';

const named = (value: string) => ({ __rl: true, mode: 'name', value });
const TODOS = { resource: 'document', collection: named('todos') };

interface Around extends N8nFixture, Engine {
  /** Runs one node with items. */
  run(parameters: object, ...items: Item[]): Promise<readonly Item[]>;
}

t.test('The n8n node works with documents, files and functions.', { timeout: 120_000 }, async (t) => {
  const fixture = await n8nFixture(t, { plugins: true });
  const engine = await openEngine(t);
  const run: Around['run'] = (parameters, ...items) =>
    engine
      .workflow([{ type: 'millrace', parameters }], fixture.credentials)
      .run(...(items.length > 0 ? items : [{ json: {} }]));
  const around = { ...fixture, ...engine, run };
  await t.test('The n8n node creates, reads, changes and deletes documents.', (t) => documents(t, around));
  await t.test('The n8n node reads a list to its end or the limit.', (t) => lists(t, around));
  await t.test('The n8n node uploads and downloads a file unchanged.', (t) => files(t, around));
  await t.test('The n8n node calls a function.', (t) => functions(t, around));
  await t.test('An error of the n8n node has the message of the server and the item.', (t) => refusals(t, around));
  await t.test('Errors of the n8n node do not contain the key.', (t) => secrecy(t, around));
});

async function documents(t: Test, { run }: Around): Promise<void> {
  const create = { ...TODOS, operation: 'create' };
  const created = await run(
    { ...create, fieldsFrom: 'json', fields: '={{ { title: $json.title, tags: ["n8n"] } }}' },
    { json: { title: 'Soup' } },
    { json: { title: 'Bread' } },
  );
  t.match(created, [{ json: { title: 'Soup', tags: ['n8n'] } }, { json: { title: 'Bread' } }]);
  t.strictSame(
    created.map(({ pairedItem }) => pairedItem),
    [{ item: 0 }, { item: 1 }],
  );
  const documentId = String(created[0]?.json['id']);

  const patch = { ...TODOS, operation: 'update', documentId, fieldsFrom: 'json', fields: '{"done":true,"tags":null}' };
  const [changed] = await run(patch);
  t.match(changed?.json, { id: documentId, title: 'Soup', done: true });
  t.notOk('tags' in (changed?.json ?? {}), 'null removes a field');
  const [whole] = await run({ ...patch, fieldsFrom: 'item' }, { json: { ...changed?.json, title: 'Broth' } });
  t.match(whole?.json, { id: documentId, title: 'Broth', done: true, _meta: { revision: 3 } });
  t.strictSame((await run({ ...TODOS, operation: 'get', documentId }))[0]?.json, whole?.json);
  t.match(await run({ ...TODOS, operation: 'delete', documentId }), [{ json: { id: documentId, deleted: true } }]);
  await t.rejects(run({ ...TODOS, operation: 'get', documentId }), /There is no document/);

  const keyed = { ...create, fieldsFrom: 'json', fields: '{}', options: { idempotencyKey: 'once' } };
  const [[first], [second]] = [await run(keyed), await run(keyed)];
  t.equal(first?.json['id'], second?.json['id'], 'with a key the second creation is the first');
}

async function lists(t: Test, { run, app, credentials }: Around): Promise<void> {
  const headers = { authorization: `Bearer ${credentials.apiKey}` };
  for (const at of [0, 1]) {
    const payload = Array.from({ length: 600 }, (_, n) => ({ n: at * 600 + n, even: n % 2 === 0 }));
    await app.inject({ method: 'POST', url: '/api/notes', payload, headers });
  }
  const many = { resource: 'document', operation: 'getAll', collection: named('notes') };
  const numbers = (items: readonly Item[]) => items.map(({ json }) => json['n']);
  const all = await run({ ...many, returnAll: true, options: { sort: '-n', fields: 'n' } });
  t.strictSame(
    numbers(all),
    Array.from({ length: 1_200 }, (_, n) => 1_199 - n),
  );
  t.strictSame(Object.keys(all[0]?.json ?? {}).sort(), ['id', 'n']);
  t.equal(numbers(await run({ ...many, limit: 501 })).length, 501);
  const filter = '={{ { n: { $lt: 6 }, even: true } }}';
  t.strictSame(numbers(await run({ ...many, filter, options: { sort: 'n' } })), [0, 2, 4]);
  t.strictSame(await run({ ...many, filter: '{"n":-1}' }), []);
  const two = await run({ ...many, limit: 2 }, { json: {} }, { json: {} });
  t.strictSame(
    two.map(({ pairedItem }) => pairedItem),
    [0, 0, 1, 1].map((item) => ({ item })),
    'each names its item',
  );
}

async function files(t: Test, { run }: Around): Promise<void> {
  const bytes = Buffer.from([0, 255, 13, 10, 45, 45, 128, 7]);
  const binary = { data: { data: bytes.toString('base64'), mimeType: 'application/x-thing', fileName: 'a "b"é.bin' } };
  const upload = { resource: 'file', operation: 'upload', binaryPropertyName: 'data' };
  const [file] = await run({ ...upload, options: { metadata: '{"album":7}' } }, { json: {}, binary });
  t.match(file?.json, { name: 'a "b"é.bin', type: 'application/x-thing', size: 8, metadata: { album: 7 } });

  const download = { resource: 'file', operation: 'download', binaryPropertyName: 'got', fileId: '={{ $json.id }}' };
  const [got] = await run(download, { json: { id: file?.json['id'] } });
  t.strictSame(Buffer.from(got?.binary?.['got']?.data ?? '', 'base64'), bytes);
  t.match(got, { json: { id: file?.json['id'] }, binary: { got: { mimeType: 'application/x-thing' } } });
  await t.rejects(run(upload), /binary/, 'without a file');
}

async function functions(t: Test, { run, services }: Around): Promise<void> {
  await until(() => services.functions.active.find('greeter/greet') !== undefined, 'the function is active');
  const call = { resource: 'function', operation: 'call', method: 'POST', query: '{"word":"Hi"}' };
  const [said] = await run({ ...call, path: '/fn/greet/A b', body: '{"n":1}' });
  t.strictSame(said?.json, { text: 'Hi, A b', got: { n: 1 } });
  await t.rejects(run({ ...call, path: 'greet/../../admin/keys' }), /part of the path/, 'the path stays below /fn/');
  await t.rejects(run({ ...call, path: 'nothing' }), { message: /nothing/ });
}

async function refusals(t: Test, { run, workflow, credentials }: Around): Promise<void> {
  const get = { ...TODOS, operation: 'get', documentId: '={{ $json.id }}' };
  const [known] = await run({ ...TODOS, operation: 'create', fields: '{}' });
  const missing = { json: { id: 'nothing' } };
  await t.rejects(run(get, { json: { id: known?.json['id'] } }, missing), {
    name: 'NodeApiError',
    message: "There is no document 'nothing' in 'todos'",
    description: /The document does not exist\..*Code: document-not-found, request: req_/,
    httpCode: '404',
    context: { itemIndex: 1 },
  });
  const going = workflow([{ type: 'millrace', parameters: get, onError: 'continueRegularOutput' }], credentials);
  const items = await going.run(missing, { json: { id: known?.json['id'] } });
  t.match(items, [
    { json: { error: "There is no document 'nothing' in 'todos'" }, pairedItem: { item: 0 } },
    { json: { id: known?.json['id'] }, pairedItem: { item: 1 } },
  ]);
  const hidden = { resource: 'document', operation: 'create', collection: named('orders'), fields: '{}' };
  await t.rejects(run(hidden), { message: /orders|allow/ }, 'what the policies of the key do not allow');
  const list = { ...TODOS, operation: 'getAll' };
  await t.rejects(run({ ...list, filter: '{"$nope":1}' }), { message: /\$nope/ });
  await t.rejects(run({ ...list, filter: '{nope' }), { name: 'NodeOperationError', message: /must be a JSON object/ });
  await t.rejects(
    run({ ...TODOS, operation: 'delete', documentId: '' }),
    /Document ID/,
    'an id that is missing is no id',
  );
}

async function secrecy(t: Test, { workflow, credentials }: Around): Promise<void> {
  const parameters = { ...TODOS, operation: 'getAll' };
  const wrong = { ...credentials, apiKey: 'mr_wrong_secret' };
  const nowhere = { ...credentials, baseUrl: 'http://127.0.0.1:1' };
  const notMillrace = { ...credentials, baseUrl: `${credentials.baseUrl}/health` };
  const known = [
    [wrong, /credential|key/i],
    [nowhere, /refused/],
    [notMillrace, /No route matches/],
  ] as const;
  for (const [given, message] of known) {
    const error = await workflow([{ type: 'millrace', parameters }], given)
      .run({ json: {} })
      .then(
        () => null,
        (thrown: unknown) => thrown,
      );
    t.match(error, { name: 'NodeApiError', message });
    const shown = inspect(error, { depth: 20, showHidden: true });
    t.notOk(shown.includes(given.apiKey), `the key is not in: ${shown.slice(0, 200)}`);
    t.notOk(JSON.stringify(error).includes(given.apiKey));
  }
}
