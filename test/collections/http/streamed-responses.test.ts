/**
 * Streamed responses: cut off when their rights end, with limited memory for one client and in total. The minimum speed
 * of readers is tested in slow-readers.test.ts.
 */
import http, { type IncomingMessage } from 'node:http';
import t, { type Test } from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';
import { ask, signUp } from '../../helpers/users.ts';

const DOCUMENTS = 3_000;
const FILLING = 'x'.repeat(8_000);
const READERS = { resources: ['long'], actions: ['read'], principals: { authenticated: true } };
const ANONYMOUS = { resources: ['long'], actions: ['read'], principals: { anonymous: true } };

interface Read {
  readonly complete: boolean;
  readonly bytes: number;
  readonly text: string;
}

/** A response whose first bytes have arrived and whose rest is not read yet. */
function begin(url: string, headers: object = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent: false, headers: { ...headers } }, (response) => {
      response.on('error', () => {});
      response.once('readable', () => {
        response.read(1);
        resolve(response);
      });
    });
    request.once('error', reject);
  });
}

/** Reads to the end, and returns whether the response was complete. */
function readOn(response: IncomingMessage): Promise<Read> {
  return new Promise((resolve) => {
    let bytes = 0;
    let text = '';
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      text = `${text}${chunk.toString('latin1')}`.slice(-20_000);
    });
    response.once('close', () => resolve({ complete: response.complete, bytes, text }));
  });
}

async function fixture(t: Test, settings: Record<string, string> = {}) {
  const created = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_REGISTRATION: 'open',
    MILLRACE_RATE_LIMIT_ANONYMOUS: '100000',
    ...settings,
  });
  await beOwned(created.services);
  const url = await created.app.listen({ host: '127.0.0.1', port: 0 });
  const documents = created.services.mongo.data.collection<{ _id: string | number }>('long');
  for (let from = 0; from < DOCUMENTS; from += 500) {
    const some = Array.from({ length: 500 }, (_, n) => ({ _id: from + n, filling: FILLING }));
    await documents.insertMany(some);
  }
  return { ...created, url, documents };
}

t.test('a list whose rights end is cut off', async (t) => {
  const { app, services, url, documents } = await fixture(t);
  withPolicies(services, [READERS]);

  await t.test('a list is cut off when its session ends, whatever is created afterwards', async (t) => {
    const user = await signUp(app, 'ada');
    const response = await begin(`${url}/api/long`, user.headers);
    t.equal(response.statusCode, 200);
    await ask(app, 'POST /auth/logout', undefined, user);
    await documents.insertOne(Object.assign({ _id: 'zzz-made-afterwards' }, { late: 'LATE' }));
    const { complete, bytes, text } = await readOn(response);
    t.equal(complete, false, 'the body has no end');
    t.ok(bytes < (DOCUMENTS * FILLING.length) / 2, `${bytes} bytes`);
    t.notMatch(text, 'LATE');
  });

  await t.test('a list is cut off when its policy is removed, or shows less', async (t) => {
    const user = await signUp(app, 'grace');
    for (const other of [[], [{ ...READERS, fields: { read: ['*', '-filling'] } }]]) {
      withPolicies(services, [READERS]);
      const response = await begin(`${url}/api/long`, user.headers);
      withPolicies(services, other);
      const { complete, bytes } = await readOn(response);
      t.equal(complete, false);
      t.ok(bytes < (DOCUMENTS * FILLING.length) / 2, `${bytes} bytes`);
    }
    withPolicies(services, [READERS]);
  });

  await t.test('a list continues when policies of others change, or another session ends', async (t) => {
    const user = await signUp(app, 'edsger');
    const other = await signUp(app, 'tony');
    const response = await begin(`${url}/api/long`, user.headers);
    withPolicies(services, [{ ...ANONYMOUS, resources: ['other'] }, READERS]);
    await ask(app, 'POST /auth/logout', undefined, other);
    const { complete, bytes } = await readOn(response);
    t.ok(complete);
    t.ok(bytes > DOCUMENTS * FILLING.length);
  });

  await t.test('a list continues when only its token expires', async (t) => {
    const user = await signUp(app, 'donald');
    const response = await begin(`${url}/api/long`, user.headers);
    const { authenticator } = services.auth;
    // An expired token is checked again: the session still exists.
    authenticator.revoke({ ids: new Set([`session:${user.session}`]), everything: false });
    const late = Date.now() + 3_600_000;
    const { now } = Date;
    Date.now = () => late;
    t.teardown(() => {
      Date.now = now;
    });
    const { complete } = await readOn(response);
    t.ok(complete);
  });
});

t.test('the memory of long responses is limited', async (t) => {
  const { services, url } = await fixture(t, {
    MILLRACE_MAX_MEMORY_BYTES_PER_CLIENT: '12000000',
    MILLRACE_MAX_MEMORY_BYTES_ALL_CLIENTS: '14000000',
    MILLRACE_MAX_LIST_BYTES: '20000000',
  });
  withPolicies(services, [READERS, ANONYMOUS]);
  const list = `${url}/api/long`;

  await t.test('streamed responses are limited for one client, without effect on others', async (t) => {
    const open = await Promise.all(Array.from({ length: 11 }, () => begin(list)));
    t.ok(open.every(({ statusCode }) => statusCode === 200));
    const refused = await fetch(list);
    t.equal(refused.status, 429);
    t.match(await refused.json(), { code: 'client-memory-exceeded' });
    t.match(refused.headers.get('retry-after'), /^\d+$/);
    t.equal((await fetch(`${list}?limit=10`)).status, 200, 'a short response is not counted');
    for (const response of open) response.destroy();
    await until(async () => {
      const again = await begin(list);
      again.destroy();
      return again.statusCode === 200;
    }, 'their room is free again');
  });

  await t.test('a page that is read slowly counts toward the memory limit', async (t) => {
    const pages = await Promise.all([1, 2].map(() => begin(`${list}?limit=1000`)));
    t.strictSame(pages.map(({ statusCode }) => statusCode).sort(), [200, 429]);
    for (const page of pages) page.destroy();
  });

  await t.test('a list is cut off at its limit', async (t) => {
    await until(async () => {
      const response = await begin(list);
      const { complete, bytes } = await readOn(response);
      if (response.statusCode === 429) return false;
      t.equal(complete, false);
      t.ok(bytes < 20_000_000 && bytes > 17_500_000, `${bytes} bytes`);
      return true;
    }, 'there is room');
  });
});
