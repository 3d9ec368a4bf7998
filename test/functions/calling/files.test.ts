/** File operations of functions, with and without rights; and the limits of one call. */
import t from 'tap';
import { requestIdForWrites } from '../../../src/functions/runs/run.ts';
import { MAX_HOST_OPERATIONS } from '../../../src/functions/sandbox/host-schemas.ts';
import { callsFixture, RUN, refusal, returned } from '../../helpers/functions/calls.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { user } from '../../helpers/principals.ts';

t.test('Functions read and write files.', async (t) => {
  const { parts: services, call } = await callsFixture(t);

  await t.test('Functions create, read and remove files.', async (t) => {
    const report = await call(async ({ request }) => {
      const created = await request('files.create', { name: 'a.txt', type: 'text/plain', text: 'h\u00e9llo' });
      t.match(created, { name: 'a.txt', size: 6, url: /^https:\/\/example\.org\/files\//, createdBy: 'o1' });
      const id = String(created['id']);
      t.strictSame(await request('files.get', { id }), created);
      t.equal(await request('files.text', { id }), 'h\u00e9llo');
      t.equal(Buffer.from(await request('files.bytes', { id }), 'base64').toString(), 'h\u00e9llo');
      const binary = await request('files.create', { name: 'b.bin', base64: Buffer.from([0, 255]).toString('base64') });
      t.match(binary, { size: 2, type: 'application/octet-stream' });
      const empty = await request('files.create', { name: 'c', base64: '' });
      t.match(empty, { size: 0 });
      t.equal(await request('files.remove', { id: String(binary['id']) }), null);
      t.equal(await request('files.get', { id: String(binary['id']) }), null);
      t.equal(await refusal(request('files.text', { id: String(binary['id']) })), 'file-not-found');
      t.equal(await refusal(request('files.remove', { id: 'no' })), 'file-not-found');
      t.equal(await refusal(request('files.create', { name: 'x' })), 'body-required');
      t.equal(await refusal(request('files.create', { name: 'x', text: '', base64: '' })), 'invalid-parameter');
      return id;
    });
    const id = String(returned(report));
    const stored = await services.mongo.data.collection('_files').findOne({ name: 'a.txt' });
    t.match(stored, { _meta: { by: 'admin:o1', request: requestIdForWrites(RUN.id, RUN.depth) } });
    t.match(report.operations.at(-1), { operation: 'files.create', target: 'x', error: 'invalid-parameter' });

    withPolicies(services, [
      { resources: ['_files'], actions: ['get'], principals: { roles: ['reader'] }, fields: { read: ['size'] } },
    ]);
    const tried = await call(
      async ({ request }) => [
        await request('files.get', { id }),
        await refusal(request('files.create', { name: 'x', text: 'x' })),
        await refusal(request('files.remove', { id })),
      ],
      { as: 'function', fn: { roles: ['reader'] } },
    );
    t.match(returned(tried), [{ id, size: 6, name: undefined }, 'forbidden', 'forbidden']);
    const nobody = await call(({ request }) => refusal(request('files.get', { id })), { as: user('ann') });
    t.equal(returned(nobody), 'forbidden');
  });
});

t.test('The operations of a call are limited.', async (t) => {
  const { call } = await callsFixture(t);
  const report = await call(
    async ({ request, raw }) => {
      t.equal(
        await refusal(raw('documents.get', `"${'x'.repeat(1_048_576)}"`)),
        'function-limits-exceeded',
        'a long argument',
      );
      const all = Array.from({ length: MAX_HOST_OPERATIONS - 1 }, () => request('hmac', { secret: 'KEY', text: '' }));
      t.strictSame(new Set((await Promise.all(all)).map((text) => text.length)), new Set([64]));
      return refusal(request('hmac', { secret: 'KEY', text: '' }));
    },
    { plugin: { secrets: { KEY: 'k' } } },
  );
  t.equal(returned(report), 'function-limits-exceeded');
});

t.test('A function signs texts with a secret.', async (t) => {
  const { call } = await callsFixture(t);
  const report = await call(
    async ({ request }) => [
      await request('hmac', { secret: 'KEY', text: 'what do ya want for nothing?' }),
      await request('hmac', { secret: 'KEY', text: '', encoding: 'base64' }),
      await refusal(request('hmac', { secret: 'OTHER', text: '' })),
      await refusal(request('hmac', { secret: 'constructor', text: '' })),
    ],
    { plugin: { secrets: { KEY: 'Jefe' } } },
  );
  // RFC 4231, test case 2.
  const known = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843';
  t.match(returned(report), [known, /^[\w+/]{43}=$/, 'invalid-parameter', 'invalid-parameter']);
});

t.test('nothing is done in the name of an ended call', async (t) => {
  const { parts: services, call } = await callsFixture(t);
  const left: ((text: string) => Promise<string>)[] = [];
  let waiting: Promise<unknown>[] = [];
  const report = await call(async ({ request, raw }) => {
    left.push((text) => raw('documents.create', text));
    waiting = Array.from({ length: 40 }, (_, n) =>
      request('documents.create', { collection: 'late', document: { n } }),
    );
    for (const one of waiting) one.catch(() => undefined);
    return 'not waited for';
  });
  t.equal(returned(report), 'not waited for');
  const late = services.mongo.data.collection('late');
  const count = await late.countDocuments();
  const created = (await Promise.allSettled(waiting)).filter(({ status }) => status === 'fulfilled').length;
  t.equal(count, created, 'what was under way is done when the call is reported, and nothing else');
  t.ok(count < 40, `${count} of 40 had started`);
  const after = left[0]?.('{"collection":"late","document":{}}') ?? Promise.resolve('');
  t.equal(await refusal(after), 'function-limits-exceeded');
  t.equal(await late.countDocuments(), count);
});

t.test('Quarantined and disabled functions are not called.', async (t) => {
  const { call } = await callsFixture(t);
  await t.rejects(async () => call(() => 1, { fn: { isQuarantined: true } }), { code: 'function-quarantined' });
  await t.rejects(async () => call(() => 1, { isOff: true }), { code: 'functions-disabled' });
  const caller = { fn: { as: 'caller' as const }, as: 'function' as const };
  await t.rejects(async () => call(() => 1, caller), TypeError);
});
