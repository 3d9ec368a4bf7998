/**
 * Write hook results: documents, rejections and failures, which error details clients get, and which hook covers which write. The
 * calls are stubbed; real code runs in every-write.test.ts.
 */
import t from 'tap';
import type { FunctionCall } from '../../../src/functions/calling/call-types.ts';
import { WriteHookRunner } from '../../../src/functions/hooks/hooks.ts';
import { PluginRegistry } from '../../../src/functions/plugins/active-plugins.ts';
import type { CallErrorCode, CallOutcome } from '../../../src/functions/sandbox/sandbox.ts';
import { MillraceError } from '../../../src/lib/errors.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { before, pluginOf } from '../../helpers/functions/plugins.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';
import { owner, speakingAs, user } from '../../helpers/principals.ts';

const CPU = { cpuMs: 1 };
const STAYS: CallOutcome = { kind: 'value', value: '[null]', ...CPU };
const returned = (...results: unknown[]): CallOutcome => ({ kind: 'value', value: JSON.stringify(results), ...CPU });
const failed = (code: CallErrorCode): CallOutcome => ({
  kind: 'error',
  code,
  message: 'planted words',
  stack: 'planted stack',
  ...CPU,
});
const refused = (pointer: string | null, index = 0): CallOutcome => ({
  kind: 'refusal',
  message: 'Not on a Sunday',
  code: 'sunday',
  pointer,
  index,
  ...CPU,
});

t.test('A write hook returns documents, nothing or an error.', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  await beOwned(services);
  const as = speakingAs(services);
  const [ann, boss] = [as(user('ann')), as(owner('owner'))];
  withPolicies(services, [{ resources: ['notes', 'others'], actions: ['create', 'read', 'update', 'delete'] }]);
  const notes = services.mongo.data.collection('notes');

  const active = new PluginRegistry((error) => t.fail(String(error)));
  const calls: FunctionCall[] = [];
  const ended: string[] = [];
  let response: (call: FunctionCall) => CallOutcome = () => STAYS;
  const attach = (isDevelopment: boolean) =>
    services.writeHooks.attach(
      new WriteHookRunner({
        active,
        calling: {
          call: async (call) => {
            calls.push(call);
            const outcome = response(call);
            const blank = (text: string) => text;
            return { outcome, startedAt: new Date(0), durationMs: 1, logs: [], operations: [], blank };
          },
        },
        recorder: {
          newId: () => `run_${calls.length}`,
          line: () => undefined,
          recordEnd: ({ fn }, { outcome }) => ended.push(`${fn.id} ${outcome.kind}`) > 0,
        },
        isDevelopment,
      }),
    );
  attach(false);
  const post = (payload: object, headers = ann, name = 'notes') =>
    app.inject({ method: 'POST', url: `/api/${name}`, payload, headers });
  const stamp = pluginOf('shop', { stamp: before('create,update,delete notes') });
  active.setPlugins([stamp]);

  await t.test('A write hook is called with the writes of its collections.', async (t) => {
    await post({ id: 'a', n: 1 });
    const [call] = calls;
    t.match(call, { caller: { id: 'ann' }, within: null, mayWrite: false, run: { id: 'run_0', attempt: 1, depth: 0 } });
    const [input] = JSON.parse(call?.input ?? '');
    t.match(input, { action: 'create', collection: 'notes', document: { id: 'a', n: 1, _meta: {} }, before: null });
    await app.inject({ method: 'DELETE', url: '/api/notes/a', headers: ann });
    t.match(JSON.parse(calls.at(-1)?.input ?? ''), [{ action: 'delete', document: null, before: { id: 'a', n: 1 } }]);
    t.strictSame(ended, ['shop/stamp value', 'shop/stamp value']);
  });

  await t.test('Results of a write hook are applied or rejected as invalid.', async (t) => {
    response = () => returned({ n: 2, big: 1e20 });
    t.match((await post({ n: 1 })).json(), { n: 2, big: 1e20 });
    const count = await notes.countDocuments();
    for (const [results, said] of [
      [[7], /did not return an object/],
      [['text'], /did not return an object/],
      [[[1]], /did not return an object/],
      [[], /number of results/],
      [[{}, {}], /number of results/],
      [{ a: 1 }, /number of results/],
      [[{ _id: 1 }], /"_id"/],
      [[JSON.parse('{"a":{"__proto__":1}}')], /__proto__/],
      [[{ a: [{ _bsontype: 'Long' }] }], /_bsontype/],
      [[{ 'a\0': 1 }], /NUL/],
      [[{ a: ['\ud800'] }], /at \/a\/0 .*surrogate/],
      [[JSON.parse(`{"a":${'['.repeat(100)}${']'.repeat(100)}}`)], /nested/],
    ] as const) {
      response = () => ({ kind: 'value', value: JSON.stringify(results), ...CPU });
      const reported = await post({ n: 1 }, boss);
      t.equal(reported.json().code, 'function-failed', JSON.stringify(results).slice(0, 40));
      t.match(reported.json().detail, said);
      t.notMatch((await post({ n: 1 })).body, said);
    }
    response = () => returned({ a: JSON.parse(`${'['.repeat(99)}${']'.repeat(99)}`) });
    t.equal((await post({ n: 1 })).statusCode, 201, 'as deep as documents may be');
    t.equal(await notes.countDocuments(), count + 1);
    response = () => returned('anything');
    t.equal(
      (await app.inject({ method: 'DELETE', url: '/api/notes?n=2', headers: { ...ann, prefer: 'max-affected=5' } }))
        .statusCode,
      200,
    );
    t.match(ended.slice(-2), ['shop/stamp value', 'shop/stamp value']);
    t.ok(ended.includes('shop/stamp error'), 'a result that cannot be used is a failed run');
  });

  await t.test('A Refusal of a write hook rejects the write.', async (t) => {
    response = () => refused('/due');
    t.match((await post({})).json(), {
      status: 422,
      code: 'rejected-by-function',
      detail: 'Not on a Sunday',
      reason: 'sunday',
      errors: [{ pointer: '/due', code: 'rejected-by-function', detail: 'Not on a Sunday' }],
    });
    for (const pointer of [null, '', 'due', '/~2']) {
      response = () => refused(pointer);
      t.equal((await post({})).json().errors, undefined, String(pointer));
    }
    response = () => refused('/due', 1);
    t.match((await post([{}, {}])).json().errors, [{ pointer: '/1/due' }]);
    response = () => refused(null, 1);
    t.match((await post([{}, {}])).json().errors, [{ pointer: '/1' }]);
    const batch = { operations: [{ method: 'POST', path: '/api/notes', body: [{}, {}] }] };
    const inBatch = await app.inject({ method: 'POST', url: '/batch', payload: batch, headers: ann });
    t.match(inBatch.json(), { failedOperation: 0, reason: 'sunday', errors: [{ pointer: '/operations/0/body/1' }] });
    t.ok(calls.at(-1)?.within, 'in the transaction of the batch');
  });

  await t.test('Only administrators get the error details of a write hook.', async (t) => {
    const statuses = {
      'function-failed': 500,
      'function-timeout': 504,
      'function-out-of-memory': 503,
      'function-runtime-restarted': 503,
    } as const;
    for (const code of Object.keys(statuses) as CallErrorCode[]) {
      response = () => failed(code);
      const other = await post({});
      t.match(other.json(), { code, status: statuses[code] });
      t.notMatch(other.body, /planted|shop/);
      const reported = await post({}, boss);
      t.equal(reported.json().detail, 'shop/stamp: planted words');
      t.notMatch(reported.body, /stack/);
    }
    response = () => {
      throw new MillraceError('function-quarantined', 'The function shop/stamp is in quarantine');
    };
    t.match((await post({})).json(), { code: 'function-quarantined', status: 503 });
    t.notMatch((await post({})).body, /shop/);
    t.match((await post({}, boss)).json().detail, /shop/);
    response = () => {
      throw new MillraceError('functions-disabled', 'Functions are disabled');
    };
    t.match((await post({})).json(), { code: 'functions-disabled', status: 503 });
    attach(true);
    response = () => failed('function-failed');
    t.match((await post({})).json().detail, /planted words/, 'in development everyone is');
    attach(false);
  });

  await t.test('A write runs the hooks of its collection and action.', async (t) => {
    response = () => STAYS;
    const seen = async (write: Promise<unknown>) => {
      calls.length = 0;
      await write;
      return calls.map(({ fn }) => fn.id);
    };
    active.setPlugins([
      pluginOf('b', { all: before('create,delete *'), two: before('create others,notes') }),
      pluginOf('a', { late: before('create notes'), early: before('create notes'), update: before('update notes') }),
    ]);
    t.strictSame(await seen(post({ id: 'w' })), ['a/early', 'a/late', 'b/all', 'b/two'], 'by their ids');
    t.strictSame(await seen(post({}, ann, 'others')), ['b/all', 'b/two']);
    t.strictSame(await seen(app.inject({ method: 'PUT', url: '/api/notes/w', payload: {}, headers: ann })), [
      'a/update',
    ]);
    t.strictSame(await seen(app.inject({ method: 'DELETE', url: '/api/notes/w', headers: ann })), ['b/all']);
    active.setPlugins([]);
    t.strictSame(await seen(post({})), []);
  });
});
