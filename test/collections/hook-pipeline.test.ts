/**
 * Write hooks: every way of writing × each possible result. The hook is part of this test; functions as hooks are
 * tested in test/functions/before.
 */
import t from 'tap';
import { MillraceError } from '../../src/lib/errors.ts';
import { buildTestApp } from '../helpers/app.ts';
import { watchEvents } from '../helpers/events/event-watch.ts';
import { SEEDED, waysToWrite, write } from '../helpers/functions/ways-to-write.ts';
import { hang, hookOf, parsed } from '../helpers/functions/write-hooks.ts';

const refuse = (pointer?: string) =>
  new MillraceError('rejected-by-function', 'Not on a Sunday', {
    extensions: { reason: 'sunday' },
    issues: pointer === undefined ? [] : [{ pointer, code: 'rejected-by-function', detail: 'Not on a Sunday' }],
  });

t.test('hooks see every way of writing', async (t) => {
  const { app, services } = await buildTestApp(t);
  const watch = await watchEvents(t, services);
  const keys = services.mongo.log.collection('idempotency');

  async function seeded(name: string): Promise<void> {
    services.writeHooks.attach({ hooksFor: () => null });
    await app.inject({ method: 'POST', url: `/api/${name}`, payload: SEEDED });
    await watch.created();
  }

  for (const [index, { name: wayName, action }] of waysToWrite('x', 'x').entries()) {
    const name = `ways${index}`;
    const way = (key: string) => waysToWrite(name, `${name}-${key}`)[index] ?? t.bailout('no such way');
    const stored = () => services.mongo.data.collection(name).find().sort({ _id: 1 }).toArray();

    await t.test(wayName, async (t) => {
      await seeded(name);
      const before = await stored();
      const changing = way('refused');
      if (changing === undefined) return;

      await t.test('a hook rejects a write', async (t) => {
        const hook = hookOf((_write, _showing, at) => (at === changing.ids.length - 1 ? refuse('/n') : null));
        hang(services, name, hook);
        const kept = await keys.countDocuments();
        const response = await write(app, changing);
        t.equal(response.statusCode, 422, response.body);
        const problem = response.json();
        t.match(problem, { code: 'rejected-by-function', reason: 'sunday' });
        t.match(problem.detail, /Not on a Sunday/);
        const pointer =
          wayName === 'POST of many' ? '/1/n' : wayName.startsWith('batch') ? '/operations/0/body/n' : '/n';
        t.equal(problem.errors[0].pointer, pointer);
        t.equal(problem.failedOperation, wayName.startsWith('batch') ? 0 : undefined);
        t.strictSame(await stored(), before);
        t.strictSame(await watch.created(), []);
        t.equal(await keys.countDocuments(), kept, 'no key is stored');
        t.equal(hook.calls.length, 1, 'one call for all documents');
        t.equal(hook.calls[0]?.length, changing.ids.length);
      });

      await t.test('a hook that fails rejects the write', async (t) => {
        for (const code of ['function-failed', 'function-timeout', 'functions-disabled'] as const) {
          hang(services, name, {
            check: async () => {
              throw new MillraceError(code, 'No verdict');
            },
          });
          t.equal((await write(app, changing)).json().code, code);
          t.strictSame(await stored(), before);
        }
      });

      await t.test('a hook changes a write', async (t) => {
        const hook = hookOf(
          ({ document }, { action }) => document && { ...document, seen: action, id: 'other', _meta: 1 },
        );
        hang(services, name, hook);
        // The same key as at the rejection, which stored nothing.
        const response = await write(app, changing);
        t.equal(response.statusCode, changing.status, response.body);
        t.equal(hook.calls.length, 1);
        for (const { document, before } of hook.calls[0] ?? []) {
          t.equal(before === null, action === 'create');
          t.equal(document === null, action === 'delete');
          t.equal(document?.['n'] ?? 5, 5, 'the document as it would be');
          t.match((document ?? before)?.['_meta'], { revision: action === 'update' ? 2 : 1 });
        }
        const rows = await services.mongo.data
          .collection<{ _id: string }>(name)
          .find({ _id: { $in: [...changing.ids] } })
          .toArray();
        if (action === 'delete') t.strictSame(rows, []);
        else
          t.match(
            rows,
            changing.ids.map((_id) => ({ _id, n: 5, seen: action })),
          );
        t.equal((await watch.created()).length, changing.ids.length);
        if (changing.name.endsWith('key')) {
          const again = await write(app, changing);
          t.equal(again.headers['idempotency-replayed'], 'true');
          t.equal(hook.calls.length, 1, 'a repeated write does not go to the hook again');
        }
      });
    });
  }

  await t.test('a hook leaves a write unchanged', async (t) => {
    const hook = hookOf(() => null);
    hang(services, 'left', hook);
    const response = await app.inject({ method: 'POST', url: '/api/left', payload: { a: [1, { b: null }] } });
    t.match(response.json(), { a: [1, { b: null }] });
    t.equal(hook.calls.length, 1);
  });

  await t.test('many writes go to the hook in batches, and an error has its index among all', async (t) => {
    const hook = hookOf(({ document }) => (document?.['n'] === 130 ? refuse() : null));
    hang(services, 'many', hook);
    const payload = Array.from({ length: 250 }, (_, n) => ({ n }));
    const refused = await app.inject({ method: 'POST', url: '/api/many', payload });
    t.equal(refused.json().errors[0].pointer, '/130');
    t.strictSame(
      hook.calls.map(({ length }) => length),
      [100, 100],
    );
    const large = services.mongo.data.collection<{ text: string }>('many');
    await large.insertMany(Array.from({ length: 5 }, () => ({ text: 'x'.repeat(200_000) })));
    const big = hookOf(() => null);
    hang(services, 'many', big);
    const headers = { prefer: 'max-affected=5' };
    await app.inject({ method: 'PATCH', url: '/api/many?filter={}', headers, payload: { n: 1 } });
    t.strictSame(
      big.calls.map(({ length }) => length),
      [2, 2, 1],
      'before and after count',
    );
  });

  await t.test('several hooks run one after the other', async (t) => {
    const first = hookOf(({ document }) => ({ ...document, path: 'a' }));
    const second = hookOf(({ document }) => ({ ...document, path: `${document?.['path']}b` }));
    const third = hookOf(() => null);
    hang(services, 'chain', first, second, third);
    const created = await app.inject({ method: 'POST', url: '/api/chain', payload: { id: 'c' } });
    t.match(created.json(), { id: 'c', path: 'ab' });
    t.match(third.calls[0]?.[0]?.document, { id: 'c', path: 'ab', _meta: { revision: 1 } });
  });

  await t.test('after a faster writer the hook sees the new state', async (t) => {
    services.writeHooks.attach({ hooksFor: () => null });
    await app.inject({ method: 'POST', url: '/api/race', payload: { id: 'r', n: 0 } });
    const race = services.mongo.data.collection<{ _id: string; n: number }>('race');
    for (const method of ['PATCH', 'DELETE'] as const) {
      const seen: unknown[] = [];
      hang(services, 'race', {
        check: async ([shown]) => {
          seen.push(parsed(shown?.before ?? null)?.['n']);
          if (seen.length === 1) await race.updateOne({ _id: 'r' }, { $inc: { n: 1 } });
          return [null];
        },
      });
      const from = (await race.findOne({ _id: 'r' }))?.n ?? 0;
      const response = await app.inject({
        method,
        url: '/api/race/r',
        ...(method === 'PATCH' ? { payload: { x: 1 } } : {}),
      });
      t.equal(response.statusCode, method === 'PATCH' ? 200 : 204, response.body);
      t.strictSame(seen, [from, from + 1], method);
    }
  });

  await t.test('a document that cannot be compared is deleted as the hook saw it', async (t) => {
    const old = services.mongo.data.collection<{ _id: string }>('strange');
    await old.insertOne({ _id: 's', when: undefined, n: 1 } as never, { ignoreUndefined: false });
    const hook = hookOf(() => null);
    hang(services, 'strange', hook);
    t.equal((await app.inject({ method: 'DELETE', url: '/api/strange/s' })).statusCode, 204);
    t.equal(hook.calls.length, 1);
  });

  await t.test('other programs that write into the database bypass the hooks', async (t) => {
    const hook = hookOf(() => refuse());
    hang(services, 'foreign', hook);
    await services.mongo.data.collection('foreign').insertOne({ n: 1 });
    t.equal(hook.calls.length, 0);
  });
});
