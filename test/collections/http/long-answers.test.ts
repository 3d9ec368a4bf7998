/**
 * Long answers under way: cut off when the rights end that they began with, bounded in what they hold for one client and
 * as a whole. How slow a reader may be is in slow-readers.test.ts.
 */
import http, { type IncomingMessage } from 'node:http';
import t, { type Test } from 'tap';
import { ask, signUp } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';

const DOCUMENTS = 3_000;
const FILLING = 'x'.repeat(8_000);
const READERS = { collections: ['long'], actions: ['read'], principals: { authenticated: true } };
const STRANGERS = { collections: ['long'], actions: ['read'], principals: { anonymous: true } };

interface Read {
  readonly complete: boolean;
  readonly bytes: number;
  readonly text: string;
}

/** An answer whose first bytes have come and whose rest is not read yet. */
function begin(url: string, headers: object = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent: false, headers: { ...headers } }, (answer) => {
      answer.on('error', () => {});
      answer.once('readable', () => {
        answer.read(1);
        resolve(answer);
      });
    });
    request.once('error', reject);
  });
}

/** Reads to the end, and tells whether that came properly. */
function readOn(answer: IncomingMessage): Promise<Read> {
  return new Promise((resolve) => {
    let bytes = 0;
    let text = '';
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      text = `${text}${chunk.toString('latin1')}`.slice(-20_000);
    });
    answer.once('close', () => resolve({ complete: answer.complete, bytes, text }));
  });
}

async function world(t: Test, settings: Record<string, string> = {}) {
  const made = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_REGISTRATION: 'open',
    MILLRACE_RATE_ANONYMOUS: '100000',
    ...settings,
  });
  await beOwned(made.parts);
  const url = await made.app.listen({ host: '127.0.0.1', port: 0 });
  const documents = made.parts.mongo.data.collection<{ _id: string | number }>('long');
  for (let from = 0; from < DOCUMENTS; from += 500) {
    const some = Array.from({ length: 500 }, (_, n) => ({ _id: from + n, filling: FILLING }));
    await documents.insertMany(some);
  }
  return { ...made, url, documents };
}

t.test('a list whose rights end is cut off', async (t) => {
  const { app, parts, url, documents } = await world(t);
  withPolicies(parts, [READERS]);

  await t.test('when its session ends, whatever is made afterwards', async (t) => {
    const account = await signUp(app, 'ada');
    const answer = await begin(`${url}/api/long`, account.headers);
    t.equal(answer.statusCode, 200);
    await ask(app, 'POST /auth/logout', undefined, account);
    await documents.insertOne(Object.assign({ _id: 'zzz-made-afterwards' }, { late: 'LATE' }));
    const { complete, bytes, text } = await readOn(answer);
    t.equal(complete, false, 'the body has no end');
    t.ok(bytes < (DOCUMENTS * FILLING.length) / 2, `${bytes} bytes`);
    t.notMatch(text, 'LATE');
  });

  await t.test('when its policy goes, or shows less', async (t) => {
    const account = await signUp(app, 'grace');
    for (const other of [[], [{ ...READERS, fields: { read: ['*', '-filling'] } }]]) {
      withPolicies(parts, [READERS]);
      const answer = await begin(`${url}/api/long`, account.headers);
      withPolicies(parts, other);
      const { complete, bytes } = await readOn(answer);
      t.equal(complete, false);
      t.ok(bytes < (DOCUMENTS * FILLING.length) / 2, `${bytes} bytes`);
    }
    withPolicies(parts, [READERS]);
  });

  await t.test('not when the policies of others change, or another session ends', async (t) => {
    const account = await signUp(app, 'edsger');
    const other = await signUp(app, 'tony');
    const answer = await begin(`${url}/api/long`, account.headers);
    withPolicies(parts, [{ ...STRANGERS, collections: ['other'] }, READERS]);
    await ask(app, 'POST /auth/logout', undefined, other);
    const { complete, bytes } = await readOn(answer);
    t.ok(complete);
    t.ok(bytes > DOCUMENTS * FILLING.length);
  });

  await t.test('not when only the time of its token is over', async (t) => {
    const account = await signUp(app, 'donald');
    const answer = await begin(`${url}/api/long`, account.headers);
    const { authenticator } = parts.auth;
    // What is believed no longer is asked again: the session is there still.
    authenticator.revoke({ ids: new Set([`session:${account.session}`]), everything: false });
    const late = Date.now() + 3_600_000;
    const { now } = Date;
    Date.now = () => late;
    t.teardown(() => {
      Date.now = now;
    });
    const { complete } = await readOn(answer);
    t.ok(complete);
  });
});

t.test('what long answers hold is bounded', async (t) => {
  const { parts, url } = await world(t, {
    MILLRACE_HELD_BYTES_PER_CLIENT: '12000000',
    MILLRACE_HELD_BYTES: '14000000',
    MILLRACE_LIST_BYTES: '20000000',
  });
  withPolicies(parts, [READERS, STRANGERS]);
  const list = `${url}/api/long`;

  await t.test('for one client, whom others do not mind', async (t) => {
    const open = await Promise.all(Array.from({ length: 11 }, () => begin(list)));
    t.ok(open.every(({ statusCode }) => statusCode === 200));
    const refused = await fetch(list);
    t.equal(refused.status, 429);
    t.match(await refused.json(), { code: 'too-much-held' });
    t.match(refused.headers.get('retry-after'), /^\d+$/);
    t.equal((await fetch(`${list}?limit=10`)).status, 200, 'a short answer is not counted');
    for (const answer of open) answer.destroy();
    await until(async () => {
      const again = await begin(list);
      again.destroy();
      return again.statusCode === 200;
    }, 'their room is free again');
  });

  await t.test('for a page that is read slowly, too', async (t) => {
    const pages = await Promise.all([1, 2].map(() => begin(`${list}?limit=1000`)));
    t.strictSame(pages.map(({ statusCode }) => statusCode).sort(), [200, 429]);
    for (const page of pages) page.destroy();
  });

  await t.test('a list is cut off at its bound', async (t) => {
    await until(async () => {
      const answer = await begin(list);
      const { complete, bytes } = await readOn(answer);
      if (answer.statusCode === 429) return false;
      t.equal(complete, false);
      t.ok(bytes < 20_000_000 && bytes > 17_500_000, `${bytes} bytes`);
      return true;
    }, 'there is room');
  });
});
