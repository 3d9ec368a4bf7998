/**
 * Writes that a hook sees before they are made: every way of writing × what the hook may answer. The hook is made here;
 * functions as hooks are tested in test/functions/before. Not here: what its answer means (seen-results.test.ts).
 */
import t from 'tap';
import { MillraceError } from '../../src/kernel/errors.ts';
import { buildTestApp } from '../helpers/app.ts';
import { watchEvents } from '../helpers/events/event-watch.ts';
import { SEEDED, waysToWrite, write } from '../helpers/functions/ways-to-write.ts';
import { hang, hookOf, parsed } from '../helpers/functions/write-hooks.ts';

const refuse = (pointer?: string) =>
  new MillraceError('refused-by-function', 'Not on a Sunday', {
    extensions: { reason: 'sunday' },
    faults: pointer === undefined ? [] : [{ pointer, code: 'refused-by-function', detail: 'Not on a Sunday' }],
  });

t.test('every way of writing', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const watch = await watchEvents(t, parts);
  const keys = parts.mongo.log.collection('idempotency');

  async function seeded(name: string): Promise<void> {
    parts.writeHooks.attach({ of: () => null });
    await app.inject({ method: 'POST', url: `/api/${name}`, payload: SEEDED });
    await watch.made();
  }

  for (const [index, { name: wayName, action }] of waysToWrite('x', 'x').entries()) {
    const name = `ways${index}`;
    const way = (key: string) => waysToWrite(name, `${name}-${key}`)[index] ?? t.bailout('no such way');
    const stored = () => parts.mongo.data.collection(name).find().sort({ _id: 1 }).toArray();

    await t.test(wayName, async (t) => {
      await seeded(name);
      const before = await stored();
      const changing = way('refused');
      if (changing === undefined) return;

      await t.test('refused', async (t) => {
        const hook = hookOf((_write, _showing, at) => (at === changing.ids.length - 1 ? refuse('/n') : null));
        hang(parts, name, hook);
        const kept = await keys.countDocuments();
        const answer = await write(app, changing);
        t.equal(answer.statusCode, 422, answer.body);
        const problem = answer.json();
        t.match(problem, { code: 'refused-by-function', reason: 'sunday' });
        t.match(problem.detail, /Not on a Sunday/);
        const place = wayName === 'POST of many' ? '/1/n' : wayName.startsWith('batch') ? '/operations/0/body/n' : '/n';
        t.equal(problem.errors[0].pointer, place);
        t.equal(problem.failedOperation, wayName.startsWith('batch') ? 0 : undefined);
        t.strictSame(await stored(), before);
        t.strictSame(await watch.made(), []);
        t.equal(await keys.countDocuments(), kept, 'no key is kept');
        t.equal(hook.calls.length, 1, 'one call for all documents');
        t.equal(hook.calls[0]?.length, changing.ids.length);
      });

      await t.test('without a verdict', async (t) => {
        for (const code of ['function-failed', 'function-timeout', 'functions-off'] as const) {
          hang(parts, name, {
            see: async () => {
              throw new MillraceError(code, 'No verdict');
            },
          });
          t.equal((await write(app, changing)).json().code, code);
          t.strictSame(await stored(), before);
        }
      });

      await t.test('changed', async (t) => {
        const hook = hookOf(
          ({ document }, { action }) => document && { ...document, seen: action, id: 'other', _meta: 1 },
        );
        hang(parts, name, hook);
        // The same key as when it was refused: that left nothing behind.
        const answer = await write(app, changing);
        t.equal(answer.statusCode, changing.status, answer.body);
        t.equal(hook.calls.length, 1);
        for (const { document, before } of hook.calls[0] ?? []) {
          t.equal(before === null, action === 'create');
          t.equal(document === null, action === 'delete');
          t.equal(document?.['n'] ?? 5, 5, 'the document as it would be');
          t.match((document ?? before)?.['_meta'], { revision: action === 'update' ? 2 : 1 });
        }
        const rows = await parts.mongo.data
          .collection<{ _id: string }>(name)
          .find({ _id: { $in: [...changing.ids] } })
          .toArray();
        if (action === 'delete') t.strictSame(rows, []);
        else
          t.match(
            rows,
            changing.ids.map((_id) => ({ _id, n: 5, seen: action })),
          );
        t.equal((await watch.made()).length, changing.ids.length);
        if (changing.name.endsWith('key')) {
          const again = await write(app, changing);
          t.equal(again.headers['idempotency-replayed'], 'true');
          t.equal(hook.calls.length, 1, 'what is repeated is not shown again');
        }
      });
    });
  }

  await t.test('what is left as it is', async (t) => {
    const hook = hookOf(() => null);
    hang(parts, 'left', hook);
    const answer = await app.inject({ method: 'POST', url: '/api/left', payload: { a: [1, { b: null }] } });
    t.match(answer.json(), { a: [1, { b: null }] });
    t.equal(hook.calls.length, 1);
  });

  await t.test('many are shown in parts, and an error names its place among all', async (t) => {
    const hook = hookOf(({ document }) => (document?.['n'] === 130 ? refuse() : null));
    hang(parts, 'many', hook);
    const payload = Array.from({ length: 250 }, (_, n) => ({ n }));
    const refused = await app.inject({ method: 'POST', url: '/api/many', payload });
    t.equal(refused.json().errors[0].pointer, '/130');
    t.strictSame(
      hook.calls.map(({ length }) => length),
      [100, 100],
    );
    const large = parts.mongo.data.collection<{ text: string }>('many');
    await large.insertMany(Array.from({ length: 5 }, () => ({ text: 'x'.repeat(200_000) })));
    const big = hookOf(() => null);
    hang(parts, 'many', big);
    const headers = { prefer: 'max-affected=5' };
    await app.inject({ method: 'PATCH', url: '/api/many?filter={}', headers, payload: { n: 1 } });
    t.strictSame(
      big.calls.map(({ length }) => length),
      [2, 2, 1],
      'before and after count',
    );
  });

  await t.test('several see one after the other', async (t) => {
    const first = hookOf(({ document }) => ({ ...document, path: 'a' }));
    const second = hookOf(({ document }) => ({ ...document, path: `${document?.['path']}b` }));
    const third = hookOf(() => null);
    hang(parts, 'chain', first, second, third);
    const made = await app.inject({ method: 'POST', url: '/api/chain', payload: { id: 'c' } });
    t.match(made.json(), { id: 'c', path: 'ab' });
    t.match(third.calls[0]?.[0]?.document, { id: 'c', path: 'ab', _meta: { revision: 1 } });
  });

  await t.test('another writer was faster: the hook sees the new state', async (t) => {
    parts.writeHooks.attach({ of: () => null });
    await app.inject({ method: 'POST', url: '/api/race', payload: { id: 'r', n: 0 } });
    const race = parts.mongo.data.collection<{ _id: string; n: number }>('race');
    for (const method of ['PATCH', 'DELETE'] as const) {
      const seen: unknown[] = [];
      hang(parts, 'race', {
        see: async ([shown]) => {
          seen.push(parsed(shown?.before ?? null)?.['n']);
          if (seen.length === 1) await race.updateOne({ _id: 'r' }, { $inc: { n: 1 } });
          return [null];
        },
      });
      const from = (await race.findOne({ _id: 'r' }))?.n ?? 0;
      const answer = await app.inject({
        method,
        url: '/api/race/r',
        ...(method === 'PATCH' ? { payload: { x: 1 } } : {}),
      });
      t.equal(answer.statusCode, method === 'PATCH' ? 200 : 204, answer.body);
      t.strictSame(seen, [from, from + 1], method);
    }
  });

  await t.test('a document that cannot be compared is deleted as it was shown', async (t) => {
    const old = parts.mongo.data.collection<{ _id: string }>('strange');
    await old.insertOne({ _id: 's', when: undefined, n: 1 } as never, { ignoreUndefined: false });
    const hook = hookOf(() => null);
    hang(parts, 'strange', hook);
    t.equal((await app.inject({ method: 'DELETE', url: '/api/strange/s' })).statusCode, 204);
    t.equal(hook.calls.length, 1);
  });

  await t.test('writers of the database itself pass by', async (t) => {
    const hook = hookOf(() => refuse());
    hang(parts, 'foreign', hook);
    await parts.mongo.data.collection('foreign').insertOne({ n: 1 });
    t.equal(hook.calls.length, 0);
  });
});
