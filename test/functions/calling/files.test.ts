/** Files for functions, with rights and without; and the numbers that bound one call. */
import t from 'tap';
import { requestOfRun } from '../../../src/functions/runs/run.ts';
import { MAX_HOST_OPERATIONS } from '../../../src/functions/sandbox/host-shapes.ts';
import { callsWorld, RUN, refusal, returned } from '../../helpers/functions/calls.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { user } from '../../helpers/principals.ts';

t.test('files', async (t) => {
  const { parts, call } = await callsWorld(t);

  await t.test('are made, read and removed', async (t) => {
    const report = await call(async ({ ask }) => {
      const made = await ask('files.create', { name: 'a.txt', type: 'text/plain', text: 'h\u00e9llo' });
      t.match(made, { name: 'a.txt', size: 6, url: /^https:\/\/example\.org\/files\//, createdBy: 'o1' });
      const id = String(made['id']);
      t.strictSame(await ask('files.get', { id }), made);
      t.equal(await ask('files.text', { id }), 'h\u00e9llo');
      t.equal(Buffer.from(await ask('files.bytes', { id }), 'base64').toString(), 'h\u00e9llo');
      const binary = await ask('files.create', { name: 'b.bin', base64: Buffer.from([0, 255]).toString('base64') });
      t.match(binary, { size: 2, type: 'application/octet-stream' });
      const empty = await ask('files.create', { name: 'c', base64: '' });
      t.match(empty, { size: 0 });
      t.equal(await ask('files.remove', { id: String(binary['id']) }), null);
      t.equal(await ask('files.get', { id: String(binary['id']) }), null);
      t.equal(await refusal(ask('files.text', { id: String(binary['id']) })), 'file-not-found');
      t.equal(await refusal(ask('files.remove', { id: 'no' })), 'file-not-found');
      t.equal(await refusal(ask('files.create', { name: 'x' })), 'body-required');
      t.equal(await refusal(ask('files.create', { name: 'x', text: '', base64: '' })), 'invalid-parameter');
      return id;
    });
    const id = String(returned(report));
    const stored = await parts.mongo.data.collection('_files').findOne({ name: 'a.txt' });
    t.match(stored, { _meta: { by: 'owner:o1', request: requestOfRun(RUN.id, RUN.depth) } });
    t.match(report.operations.at(-1), { operation: 'files.create', target: 'x', error: 'invalid-parameter' });

    withPolicies(parts, [
      { collections: ['files'], actions: ['get'], principals: { roles: ['reader'] }, fields: { read: ['size'] } },
    ]);
    const tried = await call(
      async ({ ask }) => [
        await ask('files.get', { id }),
        await refusal(ask('files.create', { name: 'x', text: 'x' })),
        await refusal(ask('files.remove', { id })),
      ],
      { as: 'function', fn: { roles: ['reader'] } },
    );
    t.match(returned(tried), [{ id, size: 6, name: undefined }, 'forbidden', 'forbidden']);
    const nobody = await call(({ ask }) => refusal(ask('files.get', { id })), { as: user('ann') });
    t.equal(returned(nobody), 'forbidden');
  });
});

t.test('operations of one call are counted', async (t) => {
  const { call } = await callsWorld(t);
  const report = await call(
    async ({ ask, raw }) => {
      t.equal(await refusal(raw('documents.get', `"${'x'.repeat(1_048_576)}"`)), 'function-limit', 'a long argument');
      const all = Array.from({ length: MAX_HOST_OPERATIONS - 1 }, () => ask('hmac', { secret: 'KEY', text: '' }));
      t.strictSame(new Set((await Promise.all(all)).map((text) => text.length)), new Set([64]));
      return refusal(ask('hmac', { secret: 'KEY', text: '' }));
    },
    { plugin: { secrets: { KEY: 'k' } } },
  );
  t.equal(returned(report), 'function-limit');
});

t.test('what signs with a secret', async (t) => {
  const { call } = await callsWorld(t);
  const report = await call(
    async ({ ask }) => [
      await ask('hmac', { secret: 'KEY', text: 'what do ya want for nothing?' }),
      await ask('hmac', { secret: 'KEY', text: '', encoding: 'base64' }),
      await refusal(ask('hmac', { secret: 'OTHER', text: '' })),
      await refusal(ask('hmac', { secret: 'constructor', text: '' })),
    ],
    { plugin: { secrets: { KEY: 'Jefe' } } },
  );
  // RFC 4231, test case 2.
  const known = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843';
  t.match(returned(report), [known, /^[\w+/]{43}=$/, 'invalid-parameter', 'invalid-parameter']);
});

t.test('nothing is done in the name of a call that has ended', async (t) => {
  const { parts, call } = await callsWorld(t);
  const left: ((text: string) => Promise<string>)[] = [];
  let waiting: Promise<unknown>[] = [];
  const report = await call(async ({ ask, raw }) => {
    left.push((text) => raw('documents.create', text));
    waiting = Array.from({ length: 40 }, (_, n) => ask('documents.create', { collection: 'late', document: { n } }));
    for (const one of waiting) one.catch(() => undefined);
    return 'not waited for';
  });
  t.equal(returned(report), 'not waited for');
  const late = parts.mongo.data.collection('late');
  const count = await late.countDocuments();
  const made = (await Promise.allSettled(waiting)).filter(({ status }) => status === 'fulfilled').length;
  t.equal(count, made, 'what was under way is done when the call is reported, and nothing else');
  t.ok(count < 40, `${count} of 40 had begun`);
  const after = left[0]?.('{"collection":"late","document":{}}') ?? Promise.resolve('');
  t.equal(await refusal(after), 'function-limit');
  t.equal(await late.countDocuments(), count);
});

t.test('quarantine, and functions that are off', async (t) => {
  const { call } = await callsWorld(t);
  await t.rejects(async () => call(() => 1, { fn: { isQuarantined: true } }), { code: 'function-quarantined' });
  await t.rejects(async () => call(() => 1, { isOff: true }), { code: 'functions-off' });
  const caller = { fn: { as: 'caller' as const }, as: 'function' as const };
  await t.rejects(async () => call(() => 1, caller), TypeError);
});
