/** Actions and searches of the Zapier app against a real server: documents, fields of real films, functions, files, errors. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { errorOf, fieldsOf, run, type ZapierError } from '../../../integrations/zapier/test/app-tester.ts';
import { SEED_SETS } from '../../../scripts/seed-sets.ts';
import { zapierFixture } from './zapier-fixture.ts';

const ALL = ['read', 'create', 'update', 'delete'];
const EDITOR = { principals: { roles: ['editor'] } };
const POLICIES = [
  { ...EDITOR, resources: ['movies', 'notes', 'none'], actions: ALL },
  { ...EDITOR, resources: ['_files'], actions: ['read', 'create'] },
  { ...EDITOR, resources: ['_functions'], actions: ['call'] },
  { principals: { roles: ['writer'] }, resources: ['notes'], actions: ['create'] },
];
const FILMS = 300;

const perform = (key: string) => `creates.${key}.operation.perform`;
const FIND = 'searches.find_document.operation.perform';

t.test('The Zapier actions work against a real server.', async (t) => {
  const fixture = await zapierFixture(t, POLICIES);
  const { authData } = await fixture.connection('editor');
  const films = (await SEED_SETS.find(({ name }) => name === 'movies')?.read())?.slice(0, FILMS) ?? [];
  await fixture.asAdmin('POST /api/movies', films);
  const act = (key: string, inputData: object) => run(perform(key), { authData, inputData: { ...inputData } });
  const find = (inputData: object) => run(FIND, { authData, inputData: { ...inputData } });

  await t.test('A Zapier connection shows the name of its key.', async (t) => {
    const me = await run('authentication.test', { authData });
    t.match(me, { kind: 'key', name: 'Zapier editor', host: new URL(fixture.origin).host });
    const label = await run('authentication.connectionLabel', { authData, inputData: Object(me) });
    t.equal(label, `Zapier editor at ${new URL(fixture.origin).host}`);
  });

  await t.test('The Zapier form of a collection has its fields.', async (t) => {
    const inputData = { collection: 'movies' };
    const form = await fieldsOf('creates.create_document.inputFields', { authData, inputData });
    const found = new Map(form.map(({ key, label, type }) => [key, `${label}: ${type}`]));
    t.match(
      Object.fromEntries(found),
      {
        collection: 'Collection: string',
        newId: 'New Document ID: string',
        field__Title: 'Title: string',
        field__US$20$Gross: 'US Gross: integer',
        field__IMDB$20$Rating: 'IMDB Rating: number',
        field__Release$20$Date: 'Release Date: string',
        document: 'More Fields (JSON): text',
      },
      'of real films',
    );
    t.notOk(
      form.some(({ key }) => /meta|field__id$/.test(String(key))),
      'not what the server sets',
    );
    const output = await fieldsOf('triggers.document_created.outputFields', { authData, inputData });
    t.match(
      new Map(output.map(({ key, type }) => [key, type])),
      new Map([
        ['data__Title', 'string'],
        ['data__IMDB Rating', 'number'],
        ['data__id', 'string'],
      ]),
    );
    const fields = await fieldsOf('searches.find_document.inputFields', { authData, inputData });
    const [, choice] = fields;
    t.ok(Array.isArray(choice?.['choices']) && choice['choices'].includes('IMDB Rating'));

    const unknown = await fieldsOf('creates.create_document.inputFields', {
      authData,
      inputData: { collection: 'none' },
    });
    t.ok(
      unknown.some(({ key }) => key === 'document'),
      'a collection without documents has a form, too',
    );
    const { authData: writer } = await fixture.connection('writer');
    const blind = await fieldsOf('creates.create_document.inputFields', {
      authData: writer,
      inputData: { collection: 'notes' },
    });
    t.ok(
      blind.some(({ key }) => key === 'document'),
      'so has one that the key cannot read',
    );
  });

  await t.test('The Zapier app creates, changes, finds and deletes a document.', async (t) => {
    const created = await act('create_document', {
      collection: 'movies',
      newId: 'solaris',
      field__Title: 'Solaris {{curly}}',
      field__US$20$Gross: 12,
      document: '{"tags":["sf"]}',
    });
    t.match(created, { id: 'solaris', Title: 'Solaris {{curly}}', 'US Gross': 12, tags: ['sf'] });
    const changed = await act('update_document', {
      collection: 'movies',
      id: 'solaris',
      document: '{"tags":null}',
      field__Title: 'Solyaris',
    });
    t.match(changed, { id: 'solaris', Title: 'Solyaris', 'US Gross': 12, tags: undefined });
    t.match(await find({ collection: 'movies', field: 'Title', value: 'Solyaris' }), [{ id: 'solaris' }]);
    t.match(await find({ collection: 'movies', field: 'US Gross', value: '12' }), [{ id: 'solaris' }]);
    t.match(
      await find({ collection: 'movies', filter: '{"US Gross":{"$lt":13}}', field: 'Title', value: 'Solyaris' }),
      [{ id: 'solaris' }],
    );
    t.strictSame(await find({ collection: 'movies', field: 'Title', value: 'Nothing' }), []);
    t.match(await errorOf(find({ collection: 'movies' })), { name: 'AppError', code: 'nothing-to-find' });
    const gone = await act('delete_document', { collection: 'movies', id: 'solaris' });
    t.match(gone, { id: 'solaris', deleted: true, document: { Title: 'Solyaris' } });
  });

  await t.test('Find or create creates one document, even the first one of a collection.', async (t) => {
    const findOrCreate = async () => {
      // Zapier searches first, and runs the action if nothing was found.
      const found = (await find({
        collection: 'notes',
        field: 'email',
        value: 'ann@example.org',
      })) as readonly object[];
      return (
        found[0] ?? (await act('create_document', { collection: 'notes', document: '{"email":"ann@example.org"}' }))
      );
    };
    const first = await findOrCreate();
    t.match(first, { email: 'ann@example.org' });
    t.strictSame(await findOrCreate(), first);
    t.equal((await fixture.asAdmin('GET /api/notes')).length, 1);
  });

  await t.test('A Zapier write with the same idempotency key happens once.', async (t) => {
    const order = { collection: 'notes', idempotencyKey: 'Bestellung Nr. 17 ü', document: '{"amount":12}' };
    const first = await act('create_document', order);
    t.strictSame(await act('create_document', order), first);
    const other = errorOf(act('create_document', { ...order, document: '{"amount":13}' }));
    t.match(
      await other,
      { name: 'HaltedError', message: /was used for another request.*idempotency-key-reused/ },
      '422',
    );
  });

  await t.test('A Zapier write whose response was lost is sent again, and happens once.', async (t) => {
    let lost = 0;
    const proxy = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', async () => {
        const headers = Object.entries(request.headers).flatMap(([name, value]) =>
          ['host', 'connection', 'content-length', 'transfer-encoding'].includes(name)
            ? []
            : [[name, String(value)] as [string, string]],
        );
        const body = Buffer.concat(chunks);
        const result = await fetch(`${fixture.origin}${request.url}`, {
          method: request.method ?? 'GET',
          headers,
          body,
        });
        const text = await result.text();
        if (lost++ === 0) response.destroy();
        else response.writeHead(result.status, { 'content-type': 'application/json' }).end(text);
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    t.teardown(() => proxy.close().closeAllConnections());
    const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const inputData = { collection: 'notes', document: '{"text":"once"}' };
    const created = await run(perform('create_document'), { authData: { ...authData, baseUrl }, inputData });
    t.match(created, { text: 'once' });
    t.equal(lost, 2);
    t.equal((await fixture.asAdmin('GET /api/notes?text=once')).length, 1);
  });

  await t.test('The Zapier app calls a function.', async (t) => {
    const manifest = {
      name: 'shop',
      functions: [{ name: 'total', file: 'total.js', http: { method: ['GET', 'POST'], path: '/invoice/:id/total' } }],
    };
    const files = {
      'total.js':
        'export default ({ params, query, body }) => ({ of: params.id, total: 12 * (body?.factor ?? query.factor) })',
    };
    await fixture.asAdmin('PUT /admin/plugins/shop', { manifest, files });
    t.match(await act('call_function', { path: 'invoice/7/total', body: '{"factor":2}' }), {
      status: 200,
      result: { of: '7', total: 24 },
    });
    const requested = await act('call_function', {
      path: '/fn/invoice/8/total',
      method: 'GET',
      query: { factor: '3' },
    });
    t.match(requested, { status: 200, result: { of: '8', total: 36 } });
    t.match(await errorOf(act('call_function', { path: 'nothing' })), { name: 'AppError', status: 404 });
  });

  await t.test('a file is uploaded, and documents that name it include it', async (t) => {
    const source = createServer((request, response) => {
      if (request.url === '/gone') return void response.writeHead(404).end();
      t.equal(request.headers.authorization, undefined, 'the key goes nowhere else');
      response.writeHead(200, {
        'content-type': 'text/plain',
        'content-disposition': 'attachment; filename="offer.txt"',
      });
      response.end('hello');
    });
    await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve));
    t.teardown(() => source.close().closeAllConnections());
    const at = `http://127.0.0.1:${(source.address() as AddressInfo).port}`;
    const uploaded = (await act('upload_file', { file: `${at}/x`, metadata: '{"album":7}' })) as Readonly<
      Record<string, string>
    >;
    t.match(uploaded, {
      name: 'offer.txt',
      type: 'text/plain',
      size: 5,
      metadata: { album: 7 },
      file: /^hydrate\|\|\|/,
    });
    t.match(await act('upload_file', { file: `${at}/x`, name: 'renamed.txt' }), { name: 'renamed.txt' });
    t.match(await errorOf(act('upload_file', { file: `${at}/gone` })), {
      name: 'AppError',
      message: /responded with 404/,
    });

    const document = JSON.stringify({ photo: uploaded['url'], more: { photos: [uploaded['url'], 'no file'] } });
    const created = await act('create_document', { collection: 'notes', document });
    t.match(created, {
      photo: uploaded['url'],
      photo_file: /^hydrate\|\|\|/,
      more: { photos: Array, photos_files: [/^hydrate\|\|\|/] },
    });
    const signed = await run('hydrators.signedUrl', { authData, inputData: { id: uploaded['id'] } });
    t.equal(await (await fetch(String(signed))).text(), 'hello');
  });

  await t.test('errors say how Zapier should react, and why', async (t) => {
    const reported: ZapierError[] = [];
    const refusal = async (running: Promise<unknown>) => {
      const error = await errorOf(running);
      reported.push(error);
      return error;
    };
    const update = (inputData: object) => act('update_document', { collection: 'notes', ...inputData });
    const anonymous = { authData: { ...authData, apiKey: `mr_AAAAAAAAAAAA_${'x'.repeat(43)}` } };
    t.match(
      await refusal(run('authentication.test', anonymous)),
      { name: 'ExpiredAuthError', message: /credential/i },
      '401',
    );
    const forbidden = refusal(act('create_document', { collection: 'secrets', document: '{}' }));
    t.match(await forbidden, { name: 'AppError', status: 403, code: 'forbidden', message: /forbidden, req_/ });
    const absent = refusal(update({ id: 'nobody', document: '{"a":1}' }));
    t.match(await absent, { name: 'HaltedError', message: /no document 'nobody' in 'notes'/ }, '404');
    const taken = { collection: 'notes', newId: 'taken', document: '{}' };
    await act('create_document', taken);
    t.match(await refusal(act('create_document', taken)), { name: 'HaltedError', message: /id-exists/ }, '409');
    const bad = refusal(find({ collection: 'notes', filter: '{"a":{"$near":1}}' }));
    t.match(await bad, { name: 'AppError', status: 400, message: /near/ });
    const plain = { authData: { ...authData, baseUrl: 'http://example.org' } };
    t.match(await refusal(run('authentication.test', plain)), { name: 'AppError', code: 'invalid-base-url' });

    const elsewhere = createServer(
      (_request, response) => void response.writeHead(404, { 'content-type': 'text/html' }).end('<p>'),
    );
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    t.teardown(() => elsewhere.close().closeAllConnections());
    const baseUrl = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    const foreign = refusal(run('authentication.test', { authData: { ...authData, baseUrl } }));
    t.match(await foreign, { name: 'AppError', code: 'unexpected-response', message: /Check the base URL/ });
    t.equal(reported.length, 7);
    t.notMatch(JSON.stringify(reported), /mr_\w/, 'none holds a key');
  });
});

t.test('A client that sends too many requests learns when to retry.', async (t) => {
  const fixture = await zapierFixture(t, POLICIES, { MILLRACE_RATE_LIMIT_PRINCIPAL: '2' });
  const { authData } = await fixture.connection('editor');
  const request = () => run('authentication.test', { authData });
  await request();
  await request();
  const { name, delay, message } = await errorOf(request());
  t.equal(name, 'ThrottledError');
  t.match(message, /rate-limited/);
  t.ok(Number.isInteger(delay) && Number(delay) > 0 && Number(delay) <= 60, String(delay));
});
