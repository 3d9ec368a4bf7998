/**
 * API keys: shown once, identified by their prefix, ended by expiry and by administrators; a read-only one changes
 * nothing.
 */
import t from 'tap';
import { generateApiKey, parseApiKey } from '../../../src/auth/tokens/api-key.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { ask, PASSWORD, signInAdmin } from '../../helpers/users.ts';

t.test('the form of an API key', async (t) => {
  const { id, secret, text } = generateApiKey();
  t.strictSame(parseApiKey(text), { id, secret });
  for (const other of [text.slice(0, -1), `${text}A`, text.replace('mr_', 'mr-'), ` ${text}`, '']) {
    t.equal(parseApiKey(other), null, other);
  }
});

t.test('API keys', async (t) => {
  const { app, services } = await buildTestApp(t);
  const owner = await signInAdmin(app, services);
  const make = async (body: object) => {
    const response = await ask(app, 'POST /admin/keys', body, owner);
    t.equal(response.statusCode, 201, response.body);
    const { key, ...shown } = response.json();
    return { id: String(shown.id), shown, text: String(key), headers: { authorization: `Bearer ${key}` } };
  };

  await t.test('API keys are shown once', async (t) => {
    const { id, shown, text } = await make({ name: 'import', roles: ['robot'] });
    t.match(text, /^mr_[A-Za-z]{12}_[\w-]{43}$/);
    t.ok(text.startsWith(String(shown.prefix)));
    const again = (await ask(app, `GET /admin/keys/${id}`, undefined, owner)).json();
    t.strictSame(again, shown);
    t.match(again, { name: 'import', roles: ['robot'], resources: null, actions: null, lastUsedAt: null });
    t.strictSame((await ask(app, 'GET /admin/keys', undefined, owner)).json(), [again]);
    for (const [db, name] of [
      [services.mongo.log, 'api_keys'],
      [services.mongo.data, '_keys'],
    ] as const) {
      const kept = await db.collection<{ _id: string }>(name).findOne({ _id: id });
      t.ok(kept, `it is kept in ${name}`);
      t.notOk(JSON.stringify(kept).includes(text.slice(-43)), `without its secret in ${name}`);
    }
  });

  await t.test('identify themselves, and record their last use', async (t) => {
    const key = await make({ name: 'used', roles: ['robot'] });
    t.match(await services.auth.authenticator.authenticate(key.headers.authorization), {
      kind: 'key',
      id: key.id,
      roles: ['robot'],
      resources: null,
      expiresAt: null,
    });
    t.strictSame((await ask(app, 'GET /auth/me', undefined, key)).json(), {
      kind: 'key',
      id: key.id,
      name: 'used',
      roles: ['robot'],
      resources: null,
      actions: null,
      expiresAt: null,
    });
    t.match((await ask(app, 'GET /auth/sessions', undefined, key)).json(), { code: 'forbidden' }, 'no account');
    const { lastUsedAt } = (await ask(app, `GET /admin/keys/${key.id}`, undefined, owner)).json();
    t.ok(Math.abs(Date.now() - Date.parse(lastUsedAt)) < 60_000, lastUsedAt);
    const wrong = `Bearer ${key.text.slice(0, -1)}${key.text.endsWith('A') ? 'B' : 'A'}`;
    t.equal((await ask(app, 'GET /api/todos', undefined, { headers: { authorization: wrong } })).statusCode, 401);
  });

  await t.test('API keys are no administrators, whatever their roles and names', async (t) => {
    const key = await make({ name: 'owner@example.org', roles: ['owner', 'manager'] });
    const { authorization } = key.headers;
    t.match(await services.auth.authenticator.authenticate(authorization), {
      kind: 'key',
      roles: ['owner', 'manager'],
    });
    const requested = { kind: 'admin', email: 'new@example.org', password: PASSWORD, roles: ['owner'] };
    t.equal((await ask(app, 'POST /admin/users', requested, key)).statusCode, 403);
    t.equal((await ask(app, `DELETE /admin/users/${owner.id}`, undefined, key)).statusCode, 403);
  });

  await t.test('API keys cannot be limited to impossible collections', async (t) => {
    for (const name of ['*', '_users', 'a.b']) {
      const response = await ask(app, 'POST /admin/keys', { name: 'k', resources: ['todos', name] }, owner);
      t.match(response.json(), { code: 'invalid-body', errors: [{ pointer: '/resources/1' }] }, name);
    }
    await make({ name: 'k', resources: ['todos', '_files'] });
  });

  await t.test('end at their expiry', async (t) => {
    const key = await make({ name: 'short', expiresAt: new Date(Date.now() + 60_000).toISOString() });
    t.match(await services.auth.authenticator.authenticate(key.headers.authorization), { kind: 'key' });
    const late = await ask(app, 'POST /admin/keys', { name: 'late', expiresAt: '2020-01-01T00:00:00Z' }, owner);
    t.match(late.json(), { code: 'invalid-body', errors: [{ pointer: '/expiresAt' }] });
    const never = await ask(app, 'POST /admin/keys', { name: 'never', expiresAt: '2099-02-31T00:00:00Z' }, owner);
    t.match(
      never.json(),
      { code: 'invalid-body', errors: [{ pointer: '/expiresAt' }] },
      'no other day is put in its place',
    );
    const over = await services.auth.keys.create(
      { name: 'over', roles: [], resources: null, actions: null, expiresAt: new Date(Date.now() - 1) },
      { by: null, request: null },
    );
    t.equal(
      (await ask(app, 'GET /api/x', undefined, { headers: { authorization: `Bearer ${over.key}` } })).statusCode,
      401,
    );
  });

  await t.test('read-only keys reach no route that could do more', async (t) => {
    const key = await make({ name: 'reader', actions: ['read'] });
    await ask(app, 'POST /api/todos', { id: 'milk' });
    t.equal((await ask(app, 'GET /api/todos/milk', undefined, key)).statusCode, 200);
    t.equal((await ask(app, 'POST /api/todos/_query', {}, key)).statusCode, 200, 'a query is a read');
    for (const [request, body] of [
      ['POST /api/todos', { a: 1 }],
      ['PUT /api/todos/milk', { a: 1 }],
      ['PATCH /api/todos/milk', { a: 1 }],
      ['DELETE /api/todos/milk', undefined],
      ['DELETE /api/todos?all=true', undefined],
      ['POST /batch', { operations: [] }],
      ['POST /files', {}],
      ['POST /files/bulk', {}],
      ['DELETE /files/6b021d6715e9e04fb9dd38b0', undefined],
      ['POST /auth/ticket', undefined],
      ['POST /auth/logout', undefined],
      ['POST /admin/keys', { name: 'x' }],
      ['POST /admin/users', { username: 'x' }],
      ['PUT /admin/collections/todos/indexes', []],
    ] as const) {
      const response = await ask(app, request, body, key);
      t.match(response.json(), { status: 403, code: 'forbidden' }, `${request}: ${response.body}`);
    }
    t.equal((await ask(app, 'GET /api/todos/milk', undefined, key)).statusCode, 200, 'it is still there');
  });

  await t.test('administrators revoke API keys', async (t) => {
    const key = await make({ name: 'gone' });
    t.equal((await ask(app, 'GET /api/todos', undefined, key)).statusCode, 200);
    t.equal((await ask(app, `DELETE /admin/keys/${key.id}`, undefined, owner)).statusCode, 204);
    t.equal((await ask(app, 'GET /api/todos', undefined, key)).statusCode, 401);
    t.equal((await ask(app, `DELETE /admin/keys/${key.id}`, undefined, owner)).statusCode, 404);
    t.equal((await ask(app, `GET /admin/keys/${key.id}`, undefined, owner)).statusCode, 404);
  });
});
