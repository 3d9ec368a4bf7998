/** Functions inside an open transaction: what they read, and what ends it even if their code catches it. */
import t from 'tap';
import { requestIdForWrites } from '../../../src/functions/runs/run.ts';
import { callsFixture, RUN, refusal, returned } from '../../helpers/functions/calls.ts';

t.test('A function runs inside a transaction.', async (t) => {
  const { parts: services, call, errors, jobs } = await callsFixture(t, {});
  const { atomic, mongo } = services;
  const counters = mongo.data.collection<{ _id: string; n: number }>('counters');
  const at = { collection: 'counters', id: 'c' };
  const STOP = new Error('rolled back');
  await call(
    async ({ request }) =>
      void (await request('documents.create', { collection: 'counters', document: { id: 'c', n: 0 } })),
  );

  await t.test(
    'A run sees its own writes, including unawaited ones, and no other client sees them before the commit.',
    async (t) => {
      await atomic.run(async (within) => {
        const report = await call(
          async ({ request }) => {
            await Promise.all(
              [1, 2, 3].map(() => request('documents.update', { ...at, operators: { $inc: { n: 1 } } })),
            );
            t.match(await request('documents.get', at), { n: 3 });
            t.match(await request('documents.list', { collection: 'counters', filter: { n: 3 } }), {
              items: [{ id: 'c' }],
            });
            t.equal(await request('documents.count', { collection: 'counters', filter: { n: 3 } }), 1);
            t.match(await counters.findOne({ _id: 'c' }), { n: 0 });
          },
          { within },
        );
        t.equal(returned(report), null);
      });
      t.match(await counters.findOne({ _id: 'c' }), { n: 3 });
    },
  );

  await t.test('A rolled back run leaves nothing.', async (t) => {
    await t.rejects(
      atomic.run(async (within) => {
        await call(
          async ({ request }) => void (await request('documents.update', { ...at, operators: { $inc: { n: 1 } } })),
          {
            within,
          },
        );
        throw STOP;
      }),
      STOP,
    );
    t.match(await counters.findOne({ _id: 'c' }), { n: 3 });
  });

  await t.test('A conflict restarts the whole run, even if the code catches it.', async (t) => {
    let times = 0;
    const outcome = await atomic.run(async (within) => {
      times += 1;
      const first = times === 1;
      const report = await call(
        async ({ request }) => {
          await request('documents.get', at);
          if (first) await counters.updateOne({ _id: 'c' }, { $set: { n: 10 } });
          await request('documents.update', { ...at, operators: { $inc: { n: 1 } } }).catch(() => undefined);
          await request('documents.create', { collection: 'logs', document: { first } }).catch(() => undefined);
          return 'caught';
        },
        { within },
      );
      return returned(report);
    });
    t.strictSame([outcome, times], ['caught', 2]);
    t.match(await counters.findOne({ _id: 'c' }), { n: 11 });
    t.strictSame(
      (await mongo.data.collection('logs').find().toArray()).map(({ first }) => first),
      [false],
    );
  });

  await t.test('An error of the database ends the transaction, even if the code catches it.', async (t) => {
    await counters.createIndex({ key: 1 }, { unique: true, sparse: true });
    await call(
      async ({ request }) => void (await request('documents.create', { collection: 'counters', document: { key: 1 } })),
    );
    for (const document of [{ id: 'c' }, { key: 1 }]) {
      const expected = 'id' in document ? 'id-exists' : 'unique-violation';
      await t.rejects(
        atomic.run(async (within) => {
          const report = await call(
            async ({ request }) => {
              await request('documents.update', { ...at, operators: { $set: { n: 99 } } });
              t.equal(await refusal(request('documents.create', { collection: 'counters', document })), expected);
              t.equal(await refusal(request('documents.get', at)), expected, 'nothing more is done in it');
              t.equal(await refusal(request('documents.create', { collection: 'logs', document: {} })), expected);
              return 'caught';
            },
            { within },
          );
          t.match(report.outcome, { kind: 'error', code: 'function-failed', message: new RegExp(`^${expected}: `) });
          throw STOP;
        }),
        STOP,
      );
    }
    t.match(await counters.findOne({ _id: 'c' }), { n: 11 });
  });

  await t.test('The code can catch errors that occur before the database is called.', async (t) => {
    await atomic.run(async (within) => {
      const report = await call(
        async ({ request }) => {
          t.equal(await refusal(request('documents.remove', { ...at, id: 'nobody' })), 'document-not-found');
          t.equal(
            await refusal(request('documents.replace', { ...at, document: {}, ifMatch: '"x"' })),
            'precondition-failed',
          );
          t.equal(
            await refusal(request('documents.create', { collection: '_x', document: {} })),
            'invalid-collection-name',
          );
          await request('documents.update', { ...at, operators: { $set: { n: 12 } } });
        },
        { within },
      );
      t.equal(report.outcome.kind, 'value');
    });
    t.match(await counters.findOne({ _id: 'c' }), { n: 12 });
  });

  await t.test('A batch that failed after its first writes ends the transaction.', async (t) => {
    await t.rejects(
      atomic.run(async (within) => {
        const report = await call(
          async ({ request }) => {
            const operations = [
              { method: 'POST', path: '/api/logs', body: { half: true } },
              { method: 'DELETE', path: '/api/logs/nobody' },
            ];
            t.equal(await refusal(request('batch', { operations })), 'document-not-found');
            return 'caught';
          },
          { within },
        );
        t.match(report.outcome, { kind: 'error', message: /^document-not-found: / });
        throw STOP;
      }),
      STOP,
    );
    t.equal(await mongo.data.collection('logs').countDocuments({ half: true }), 0);
  });

  await t.test('A job is stored in the transaction of its run.', async (t) => {
    await atomic.run(async (within) => {
      const more = { later: { use: { kind: 'job' } as const, as: 'function' as const } };
      const begun = Date.now();
      const report = await call(
        async ({ request }) => {
          t.equal(await refusal(request('schedule', { name: 'run', input: 1 })), 'function-not-found', 'no job');
          t.equal(await refusal(request('schedule', { name: 'later', input: 1, at: 'soon' })), 'invalid-parameter');
          t.equal(await refusal(request('schedule', { name: 'later', input: 1, after: -1 })), 'invalid-parameter');
          t.equal(await refusal(request('schedule', { name: 'later', input: 1, after: 1e12 })), 'invalid-parameter');
          t.equal(
            await refusal(request('schedule', { name: 'later', input: 1, after: 1, at: '2026-01-01' })),
            'invalid-parameter',
          );
          return request('schedule', { name: 'later', input: { n: [1] }, after: 60_000 });
        },
        { within, more, restricted: true },
      );
      t.match(returned(report), { id: 'job_1', at: String });
      t.match(jobs, [
        { fn: { id: 'shop/later' }, input: '{"n":[1]}', depth: 1, request: requestIdForWrites(RUN.id, 1) },
      ]);
      t.equal(jobs[0]?.restricted, true, 'the input of the job may contain user data of the run');
      const [{ at = new Date(0) } = {}] = jobs;
      t.ok(at.getTime() >= begun + 60_000 && at.getTime() <= Date.now() + 60_000);
    });
  });
  t.strictSame(errors, []);
});
