/**
 * What the answer of a function that sees a write becomes: members, refusals and faults, who is told what, and which function
 * sees which write. The calls are answered here; real code runs in every-write.test.ts.
 */
import t from 'tap';
import type { FunctionCall } from '../../../src/functions/calling/calling.ts';
import { Befores } from '../../../src/functions/kinds/before/befores.ts';
import { PluginBook } from '../../../src/functions/plugins/plugin-book.ts';
import type { CallFaultCode, CallOutcome } from '../../../src/functions/sandbox/sandbox.ts';
import { MillraceError } from '../../../src/kernel/errors.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { before, pluginOf } from '../../helpers/functions/plugins.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';
import { owner, speakingAs, user } from '../../helpers/principals.ts';

const CPU = { cpuMs: 1 };
const STAYS: CallOutcome = { kind: 'value', value: '[null]', ...CPU };
const returned = (...results: unknown[]): CallOutcome => ({ kind: 'value', value: JSON.stringify(results), ...CPU });
const failed = (code: CallFaultCode): CallOutcome => ({
  kind: 'fault',
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

t.test('what a function answers', async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  await beOwned(parts);
  const as = speakingAs(parts);
  const [ann, boss] = [as(user('ann')), as(owner('owner'))];
  withPolicies(parts, [{ collections: ['notes', 'others'], actions: ['create', 'read', 'update', 'delete'] }]);
  const notes = parts.mongo.data.collection('notes');

  const active = new PluginBook((error) => t.fail(String(error)));
  const calls: FunctionCall[] = [];
  const ended: string[] = [];
  let answer: (call: FunctionCall) => CallOutcome = () => STAYS;
  const attach = (isDevelopment: boolean) =>
    parts.writeHooks.attach(
      new Befores({
        active,
        calling: {
          call: async (call) => {
            calls.push(call);
            const outcome = answer(call);
            const blank = (text: string) => text;
            return { outcome, startedAt: new Date(0), durationMs: 1, logs: [], operations: [], blank };
          },
        },
        recorder: {
          newId: () => `run_${calls.length}`,
          line: () => undefined,
          ended: ({ fn }, { outcome }) => ended.push(`${fn.id} ${outcome.kind}`) > 0,
        },
        isDevelopment,
      }),
    );
  attach(false);
  const post = (payload: object, headers = ann, name = 'notes') =>
    app.inject({ method: 'POST', url: `/api/${name}`, payload, headers });
  const stamp = pluginOf('shop', { stamp: before('create,update,delete notes') });
  active.use([stamp]);

  await t.test('the call', async (t) => {
    await post({ id: 'a', n: 1 });
    const [call] = calls;
    t.match(call, { caller: { id: 'ann' }, within: null, mayWrite: false, run: { id: 'run_0', attempt: 1, depth: 0 } });
    const [input] = JSON.parse(call?.input ?? '');
    t.match(input, { action: 'create', collection: 'notes', document: { id: 'a', n: 1, _meta: {} }, before: null });
    await app.inject({ method: 'DELETE', url: '/api/notes/a', headers: ann });
    t.match(JSON.parse(calls.at(-1)?.input ?? ''), [{ action: 'delete', document: null, before: { id: 'a', n: 1 } }]);
    t.strictSame(ended, ['shop/stamp value', 'shop/stamp value']);
  });

  await t.test('results', async (t) => {
    answer = () => returned({ n: 2, big: 1e20 });
    t.match((await post({ n: 1 })).json(), { n: 2, big: 1e20 });
    const count = await notes.countDocuments();
    for (const [results, said] of [
      [[7], /no object/],
      [['text'], /no object/],
      [[[1]], /no object/],
      [[], /each write/],
      [[{}, {}], /each write/],
      [{ a: 1 }, /each write/],
      [[{ _id: 1 }], /"_id"/],
      [[JSON.parse('{"a":{"__proto__":1}}')], /__proto__/],
      [[{ a: [{ _bsontype: 'Long' }] }], /_bsontype/],
      [[{ 'a\0': 1 }], /NUL/],
      [[{ a: ['\ud800'] }], /at \/a\/0 .*surrogate/],
      [[JSON.parse(`{"a":${'['.repeat(100)}${']'.repeat(100)}}`)], /nested/],
    ] as const) {
      answer = () => ({ kind: 'value', value: JSON.stringify(results), ...CPU });
      const told = await post({ n: 1 }, boss);
      t.equal(told.json().code, 'function-failed', JSON.stringify(results).slice(0, 40));
      t.match(told.json().detail, said);
      t.notMatch((await post({ n: 1 })).body, said);
    }
    answer = () => returned({ a: JSON.parse(`${'['.repeat(99)}${']'.repeat(99)}`) });
    t.equal((await post({ n: 1 })).statusCode, 201, 'as deep as documents may be');
    t.equal(await notes.countDocuments(), count + 1);
    answer = () => returned('anything');
    t.equal(
      (await app.inject({ method: 'DELETE', url: '/api/notes?n=2', headers: { ...ann, prefer: 'max-affected=5' } }))
        .statusCode,
      200,
    );
    t.match(ended.slice(-2), ['shop/stamp value', 'shop/stamp value']);
    t.ok(ended.includes('shop/stamp fault'), 'a result that cannot be used is a failed run');
  });

  await t.test('refusals', async (t) => {
    answer = () => refused('/due');
    t.match((await post({})).json(), {
      status: 422,
      code: 'refused-by-function',
      detail: 'Not on a Sunday',
      reason: 'sunday',
      errors: [{ pointer: '/due', code: 'refused-by-function', detail: 'Not on a Sunday' }],
    });
    for (const pointer of [null, '', 'due', '/~2']) {
      answer = () => refused(pointer);
      t.equal((await post({})).json().errors, undefined, String(pointer));
    }
    answer = () => refused('/due', 1);
    t.match((await post([{}, {}])).json().errors, [{ pointer: '/1/due' }]);
    answer = () => refused(null, 1);
    t.match((await post([{}, {}])).json().errors, [{ pointer: '/1' }]);
    const batch = { operations: [{ method: 'POST', path: '/api/notes', body: [{}, {}] }] };
    const inBatch = await app.inject({ method: 'POST', url: '/batch', payload: batch, headers: ann });
    t.match(inBatch.json(), { failedOperation: 0, reason: 'sunday', errors: [{ pointer: '/operations/0/body/1' }] });
    t.ok(calls.at(-1)?.within, 'in the transaction of the batch');
  });

  await t.test('who is told what failed', async (t) => {
    const statuses = {
      'function-failed': 500,
      'function-timeout': 504,
      'function-out-of-memory': 503,
      'function-runtime-restarted': 503,
    } as const;
    for (const code of Object.keys(statuses) as CallFaultCode[]) {
      answer = () => failed(code);
      const other = await post({});
      t.match(other.json(), { code, status: statuses[code] });
      t.notMatch(other.body, /planted|shop/);
      const told = await post({}, boss);
      t.equal(told.json().detail, 'shop/stamp: planted words');
      t.notMatch(told.body, /stack/);
    }
    answer = () => {
      throw new MillraceError('function-quarantined', 'The function shop/stamp is in quarantine');
    };
    t.match((await post({})).json(), { code: 'function-quarantined', status: 503 });
    t.notMatch((await post({})).body, /shop/);
    t.match((await post({}, boss)).json().detail, /shop/);
    answer = () => {
      throw new MillraceError('functions-off', 'Functions are switched off');
    };
    t.match((await post({})).json(), { code: 'functions-off', status: 503 });
    attach(true);
    answer = () => failed('function-failed');
    t.match((await post({})).json().detail, /planted words/, 'in development everyone is');
    attach(false);
  });

  await t.test('which function sees which write', async (t) => {
    answer = () => STAYS;
    const seen = async (write: Promise<unknown>) => {
      calls.length = 0;
      await write;
      return calls.map(({ fn }) => fn.id);
    };
    active.use([
      pluginOf('b', { all: before('create,delete *'), two: before('create others,notes') }),
      pluginOf('a', { late: before('create notes'), early: before('create notes'), update: before('update notes') }),
    ]);
    t.strictSame(await seen(post({ id: 'w' })), ['a/early', 'a/late', 'b/all', 'b/two'], 'by their ids');
    t.strictSame(await seen(post({}, ann, 'others')), ['b/all', 'b/two']);
    t.strictSame(await seen(app.inject({ method: 'PUT', url: '/api/notes/w', payload: {}, headers: ann })), [
      'a/update',
    ]);
    t.strictSame(await seen(app.inject({ method: 'DELETE', url: '/api/notes/w', headers: ann })), ['b/all']);
    active.use([]);
    t.strictSame(await seen(post({})), []);
  });
});
